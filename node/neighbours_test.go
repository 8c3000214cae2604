package node_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// TestWrongTokensAreThrottled checks that an address with wrong tokens must wait, over HTTP and over the wire,
// without effect on other addresses. Valid tokens are let in from the same address; so is the cluster secret if the
// address sent it before, and otherwise after the wait.
func TestWrongTokensAreThrottled(t *testing.T) {
	t.Parallel()
	const most = 5
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.FailedLogins = most })
	w := c.web(0)
	token := w.createToken(obj{"label": "right"})
	from := func(ip string) *http.Client {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		return &http.Client{Transport: &http.Transport{DialContext: d.DialContext, DisableKeepAlives: true}}
	}
	ask := func(cl *http.Client, path, token string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", w.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := cl.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode, resp.Header.Get("Retry-After")
	}
	if l, err := net.Listen("tcp", "127.0.0.2:0"); err != nil {
		t.Skipf("this system has no second loopback address: %v", err)
	} else {
		l.Close()
	}
	hostile, other := from("127.0.0.2"), from("127.0.0.3")
	for i := range most {
		if status, _ := ask(hostile, "/v1/stats", fmt.Sprint("ydb_wrong", i)); status != http.StatusUnauthorized {
			t.Fatalf("wrong token %d: %d", i+1, status)
		}
	}
	// One more attempt is allowed each second, so a machine that paused may allow a few more.
	refused := func(one func() bool) bool {
		for range most {
			if one() {
				return true
			}
		}
		return false
	}
	for _, path := range []string{"/v1/stats", "/mcp", "/metrics"} {
		var status int
		var after string
		if !refused(func() bool {
			status, after = ask(hostile, path, "ydb_wrong")
			return status == http.StatusTooManyRequests && after == "1"
		}) {
			t.Errorf("%s after %d wrong tokens: %d, Retry-After %q", path, most, status, after)
		}
	}
	dial := func(ip, token string) error {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		nc, err := d.DialContext(t.Context(), "tcp", c.nodes[0].Addrs().Wire)
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		b, err := wire.AppendPack(nil, wire.OpAuth, 1, &wire.Auth{Token: token}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
		f, err := wire.NewReader(nc, wire.MaxPlainEarly).Next()
		if err != nil {
			t.Fatal(err)
		}
		if f.Op == wire.OpAuthOK {
			return nil
		}
		var refused wire.AuthFail
		if err := wire.Unpack(f, &refused, wire.MaxPlainEarly); err != nil {
			t.Fatal(err)
		}
		return errors.New(refused.Reason)
	}
	var said error
	if !refused(func() bool {
		said = dial("127.0.0.2", "ydb_wrong")
		return said != nil && strings.Contains(said.Error(), "too many failed logins from this address")
	}) {
		t.Errorf("a wrong token over the wire: %v", said)
	}
	if status, _ := ask(hostile, "/v1/stats", token); status != http.StatusOK {
		t.Errorf("a right token beside them: %d", status)
	}
	if err := dial("127.0.0.2", token); err != nil {
		t.Errorf("a right token over the wire: %v", err)
	}
	if status, _ := ask(other, "/v1/stats", "ydb_wrong"); status != http.StatusUnauthorized {
		t.Errorf("another address: %d", status)
	}
	var before time.Time
	if !refused(func() bool {
		before = time.Now()
		status, _ := ask(hostile, "/v1/stats", "ydb_wrong")
		return status == http.StatusTooManyRequests
	}) {
		t.Fatal("wrong tokens are taken again")
	}
	// it counts as an attempt too
	if status, _ := ask(hostile, "/v1/stats", secret); status == http.StatusOK && time.Since(before) < 500*time.Millisecond {
		t.Error("the secret is compared beyond the pace")
	}
	suite.Eventually(t, "the secret is taken when the wait is over", func() bool {
		time.Sleep(100 * time.Millisecond) // an attempt that comes too early counts too
		status, _ := ask(hostile, "/v1/stats", secret)
		return status == http.StatusOK
	})
	for range 2 * most {
		ask(hostile, "/v1/stats", "ydb_wrong")
	}
	if status, _ := ask(hostile, "/v1/stats", secret); status != http.StatusOK {
		t.Errorf("the secret from an address that has shown it: %d", status)
	}
	if n := sample(t, scrape(t, w.base, ""), "cairn_failed_logins_total"); n < 3*most {
		t.Errorf("%v failed logins are counted", n)
	}
}

// scrape reads /metrics with a token, or without one.
func scrape(t *testing.T, base, token string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("metrics: %s %v", resp.Status, err)
	}
	return string(b)
}

func sample(t *testing.T, metrics, line string) (v float64) {
	t.Helper()
	for l := range strings.Lines(metrics) {
		if rest, ok := strings.CutPrefix(l, line+" "); ok {
			if _, err := fmt.Sscan(rest, &v); err != nil {
				t.Fatal(err)
			}
			return v
		}
	}
	t.Errorf("no line %s", line)
	return 0
}

// TestATokenKnowsItsDatabases checks that lists, errors and metrics name only its own database to a token that does
// not administer the cluster, and that /metrics names none to a client without a token.
func TestATokenKnowsItsDatabases(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w := c.web(0)
	for _, name := range []string{"mine", "hidden"} {
		w.ok("POST", "/v1/databases", obj{"name": name})
		w.ok("POST", "/v1/remember?database="+name, obj{"text": "one of " + name})
	}
	hidden := w.ok("GET", "/v1/admin/databases/hidden/quota", nil)["database"]
	token := w.createToken(obj{"database": "mine", "scopes": []string{"read", "write", "owner"}})
	mine := w.with(token)
	names := func(w *web) (names []string) {
		for _, d := range w.ok("GET", "/v1/databases", nil)["databases"].([]any) {
			names = append(names, d.(obj)["name"].(string))
		}
		return names
	}
	if got := names(mine); !slices.Equal(got, []string{"mine"}) {
		t.Errorf("a token of one database lists %v", got)
	}
	if got := names(w); !slices.Equal(got, []string{"default", "mine", "hidden"}) {
		t.Errorf("the cluster secret lists %v", got)
	}
	cl, err := wireClient(t, c.nodes[0].Addrs().Wire, token)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := cl.Databases(t.Context())
	if err != nil || len(listed) != 1 || listed[0].Name != "mine" {
		t.Errorf("over the wire: %v, %v", listed, err)
	}
	for id := range 6 { // by number, an existing database looks like a missing one
		status, out := mine.send("POST", "/v1/admin/tokens", obj{"database_id": id + 1, "label": "x"})
		if strings.Contains(fmt.Sprint(out), hidden.(string)) || status != http.StatusOK && out["error"] != "database not found" {
			t.Errorf("database %d: %d %v", id+1, status, out)
		}
	}
	_, there := mine.send("POST", "/v1/admin/tokens", obj{"database": "hidden"})
	_, none := mine.send("POST", "/v1/admin/tokens", obj{"database": "absent"})
	if strings.ReplaceAll(fmt.Sprint(there), "hidden", "absent") != fmt.Sprint(none) {
		t.Errorf("one that is there: %v; one that is not: %v", there, none)
	}
	databases := func(token string) []string {
		var names []string
		for _, m := range regexp.MustCompile(`yantrikdb_active_memories\{db="([^"]*)"\}`).FindAllStringSubmatch(scrape(t, w.base, token), -1) {
			names = append(names, m[1])
		}
		return names
	}
	for token, want := range map[string][]string{"": {"*"}, token: {"mine"}, secret: {"default", "hidden", "mine"}} {
		if got := databases(token); !slices.Equal(got, want) {
			t.Errorf("metrics name %v, want %v", got, want)
		}
	}
	if got := scrape(t, w.base, ""); strings.Contains(got, "hidden") || strings.Contains(got, "mine") {
		t.Error("metrics without a token name a database")
	} else if n := sample(t, got, `yantrikdb_active_memories{db="*"}`); n != 2 {
		t.Errorf("the sum over all databases is %v", n)
	}
}

// TestATokenMintsNoMoreThanItHas checks that a token can only give its own scopes, for its own database.
func TestATokenMintsNoMoreThanItHas(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	w.ok("POST", "/v1/databases", obj{"name": "mine"})
	all := []string{"read", "write", "owner", "admin"}
	for _, has := range [][]string{{"owner"}, {"read", "owner"}, {"write", "owner"}, {"read", "write", "owner"}, {"admin"}, all} {
		giver := w.with(w.createToken(obj{"database": "mine", "scopes": has}))
		for _, wants := range [][]string{nil, {"read"}, {"write"}, {"owner"}, {"admin"}, all} {
			status, out := giver.send("POST", "/v1/admin/tokens", obj{"scopes": wants})
			may := true
			for _, sc := range wants {
				may = may && (slices.Contains(has, sc) || sc == "owner" && slices.Contains(has, "admin"))
			}
			if wants == nil {
				may = slices.Contains(has, "read") && slices.Contains(has, "write")
			}
			if may != (status == http.StatusOK) || !may && out["code"] != "insufficient_scope" || may && out["database"] != "mine" {
				t.Errorf("%v gives %v: %d %v", has, wants, status, out)
			}
		}
	}
	for url, want := range map[string]string{"/v1/admin/tokens": "default", "/v1/admin/tokens?database=mine": "mine"} {
		if got := w.ok("POST", url, obj{})["database"]; got != want {
			t.Errorf("%s mints a token for %v", url, got)
		}
	}
	if got := w.ok("POST", "/v1/admin/tokens?database=mine", obj{"database": "default"})["database"]; got != "default" {
		t.Errorf("a token that is asked for default is for %v", got)
	}
	for _, name := range []string{"-yes", "--yes", "MINE", "Default"} {
		if status, out := w.send("POST", "/v1/databases", obj{"name": name}); status != http.StatusBadRequest &&
			status != http.StatusConflict {
			t.Errorf("database %s: %d %v", name, status, out)
		}
	}
}

// TestStrangersLearnThatANodeLives checks that without a token the cluster's status only reports whether the node is
// alive and ready, and nothing that helps to impersonate a member.
func TestStrangersLearnThatANodeLives(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	stranger := w.with("")
	if got := stranger.ok("GET", "/v1/cluster", nil); !reflect.DeepEqual(got, obj{"alive": true, "ready": true}) {
		t.Errorf("a stranger is told %v", got)
	}
	status := w.ok("GET", "/v1/cluster", nil)
	for _, path := range []string{"/v1/health", "/v1/health/deep", "/v1/health/ready"} {
		told := fmt.Sprint(stranger.ok("GET", path, nil))
		for _, name := range []string{"cluster_id", "addr", "wire", "http", "state_hash"} {
			if secret := fmt.Sprint(status[name]); strings.Contains(told, secret) {
				t.Errorf("%s tells a stranger the %s: %s", path, name, told)
			}
		}
	}
	if status, out := w.with("ydb_"+strings.Repeat("0", 64)).send("GET", "/v1/cluster", nil); status != http.StatusUnauthorized {
		t.Errorf("a wrong token: %d %v", status, out)
	}
	for _, scopes := range [][]string{{"read"}, {"write"}, {"owner"}} {
		if got := w.with(w.createToken(obj{"scopes": scopes})).ok("GET", "/v1/cluster", nil); got["cluster_id"] == "" ||
			got["role"] != "Leader" {
			t.Errorf("%v is told %v", scopes, got)
		}
	}
}

// TestDatabasesAreCapped checks that the tokens of a database, also those that its owner creates, can create a
// bounded number of databases. Administrators have no bound.
func TestDatabasesAreCapped(t *testing.T) {
	t.Parallel()
	const most = 3
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Limits.MaxDatabases = most })
	w := c.web(0)
	owner := w.with(w.createToken(obj{"scopes": []string{"read", "write", "owner"}}))
	for i := range most {
		owner.ok("POST", "/v1/databases", obj{"name": fmt.Sprint("made", i)})
	}
	for i, by := range []*web{owner, owner.with(owner.createToken(obj{"label": "another"}))} {
		status, out := by.send("POST", "/v1/databases", obj{"name": fmt.Sprint("toomany", i)})
		if status != http.StatusTooManyRequests || out["code"] != "rate_limited" ||
			!strings.Contains(fmt.Sprint(out["error"]), "would exceed database quota") {
			t.Errorf("database %d: %d %v", most+1, status, out)
		}
	}
	cl, err := wireClient(t, c.nodes[0].Addrs().Wire, owner.token)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CreateDatabase(t.Context(), "toomany"); !client.IsCode(err, wire.CodeInvalidPayload) {
		t.Errorf("over the wire: %v", err)
	}
	w.ok("POST", "/v1/databases", obj{"name": "administered"})
	w.ok("DELETE", "/v1/databases/made0", nil)
	owner.ok("POST", "/v1/databases", obj{"name": "again"})
}

// TestHostsOfTheGateway checks that a request over loopback must name this machine, or the node as configured. A
// rebound name or an unusual spelling of the address is rejected on every route.
func TestHostsOfTheGateway(t *testing.T) {
	t.Parallel()
	w := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Addresses.AdvertiseHTTP = "Cairn.example:7438" }).web(0)
	at := strings.TrimPrefix(w.base, "http://")
	for host, want := range map[string]int{
		at: http.StatusOK, "localhost": http.StatusOK, "LOCALHOST:1": http.StatusOK, "[::1]:1": http.StatusOK,
		"cairn.example": http.StatusOK, "cairn.EXAMPLE:80": http.StatusOK,
		"evil.example": http.StatusForbidden, "cairn.example.evil": http.StatusForbidden,
		"[::ffff:127.0.0.1]:7438": http.StatusForbidden, "127.1": http.StatusForbidden,
	} {
		for _, path := range []string{"/v1/health", "/v1/stats", "/"} {
			req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+at+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			req.Header.Set("Authorization", "Bearer "+secret)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != want {
				t.Errorf("%s of %s: %d, want %d", path, host, resp.StatusCode, want)
			}
		}
	}
}
