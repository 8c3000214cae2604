package gateway

import (
	"net"
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/ownhost"
)

// signInPath exchanges the code of a sign-in link for a token. The console sends the code in a body, so no log of
// requests contains it. The link has the code after the #, which browsers do not send.
const signInPath = "/console/sign-in"

const maxSignInBody = 1 << 10 // bytes of a body

// errNotLocal rejects an exchange that does not come from a page of this node in a browser on this machine.
var errNotLocal = &oplog.Error{Kind: oplog.Denied,
	Text: "sign-in links work in a browser on the node's own machine alone; sign in with the token"}

// SignInLink returns a link that signs the console in with a token. It works once, within a minute, on this machine.
// The caller shows it to the node's user and must not log it.
func (g *Gateway) SignInLink(base, token string) string {
	return base + "/#sign-in=" + g.signIn.Offer(token, time.Now())
}

func (g *Gateway) serveSignIn(w http.ResponseWriter, r *http.Request) {
	q := &request{g: g, w: w, r: r}
	var body struct {
		Code string `json:"code"`
	}
	token, err := "", error(errNotLocal)
	if onThisMachine(r) {
		var b []byte
		var release func()
		b, release, err = q.bodyOf(maxSignInBody)
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

// onThisMachine reports whether a request comes over loopback, with a loopback host name, from no page of another
// origin, and without the headers of a proxy. A proxy on this machine may forward requests of other machines.
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
