package gateway

import (
	"net"
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/ownhost"
)

// signInPath takes the code of a sign-in link from the console. The code comes in a body, so no log of requests
// has it; the link carries it behind the #, which browsers send to nobody.
const signInPath = "/console/sign-in"

const maxSignIn = 1 << 10 // bytes of a body

// errOnlyHere rejects an exchange that does not come from a page of this node in a browser on this machine.
var errOnlyHere = &oplog.Error{Kind: oplog.Denied,
	Text: "sign-in links work in a browser on the node's own machine alone; sign in with the token"}

// SignInLink returns a link that signs the console in with a token, once, within a minute, on this machine. The
// caller shows it to the node's user and logs it nowhere.
func (g *Gateway) SignInLink(base, token string) string {
	return base + "/#sign-in=" + g.signIn.Offer(token, time.Now())
}

func (g *Gateway) serveSignIn(w http.ResponseWriter, r *http.Request) {
	q := &request{g: g, w: w, r: r}
	var body struct {
		Code string `json:"code"`
	}
	token, err := "", error(errOnlyHere)
	if onThisMachine(r) {
		var b []byte
		var release func()
		b, release, err = q.bodyOf(maxSignIn)
		defer release()
		if err == nil {
			err = g.decodeInto(q, b, &body)
		}
		if err == nil {
			token, err = g.signIn.Take(body.Code, time.Now())
		}
	}
	if err != nil {
		rejectUnread(w, r)
		g.fail(w, r, err)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	writeJSON(w, http.StatusOK, struct {
		Token string `json:"token"`
	}{token})
}

// onThisMachine reports whether a request comes over loopback, under a loopback name, from no page of another origin,
// and through no proxy that says so: a proxy on this machine may speak for clients elsewhere.
func onThisMachine(r *http.Request) bool {
	at, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	h := r.Header
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if h.Get(name) != "" {
			return false
		}
	}
	own, site := h.Get("Origin"), h.Get("Sec-Fetch-Site")
	return at != nil && at.IP.IsLoopback() && net.ParseIP(from).IsLoopback() && ownhost.Is(r.Host, at) &&
		(own == "" || own == origin(r)) && (site == "" || site == "same-origin")
}
