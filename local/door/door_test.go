package door

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// serve starts a server behind a door.
func serve(t testing.TB, d *Door, at string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Skipf("this machine has no %s: %v", at, err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if why := d.RejectReason(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		io.WriteString(w, "in")
	})}
	done := make(chan error, 1)
	go func() { done <- d.Serve(s, ln, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return ln.Addr().String()
}

// outside returns an address of this machine that is not a loopback address.
func outside(t testing.TB) string {
	t.Helper()
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addrs {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback's")
	return ""
}

func ask1(t testing.TB, url string, head ...string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range head {
		k, v, _ := strings.Cut(h, ": ")
		r.Header.Set(k, v)
		if k == "Host" {
			r.Host = v
		}
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// Only listed pages and names are accepted.
func TestPagesAndNames(t *testing.T) {
	t.Parallel()
	secret := func(token string) bool { return EqualSecrets(token, "secret") }
	own := serve(t, &Door{Origins: []string{"http://localhost:3000"}, Token: secret, Hint: "send the token"}, "127.0.0.1:0")
	_, port, _ := net.SplitHostPort(own)
	for _, c := range []struct {
		name, want string
		head       []string
	}{
		{"a program", "in", nil},
		{"the root's page of this host, typed in", "in", []string{"Sec-Fetch-Site: none"}},
		{"localhost", "in", []string{"Host: LocalHost:1"}},
		{"::1", "in", []string{"Host: [::1]:1"}},
		{"a listed origin", "in", []string{"Origin: http://localhost:3000", "Sec-Fetch-Site: cross-site"}},
		{"the listener's own", "in", []string{"Origin: http://" + own, "Sec-Fetch-Site: same-origin"}},
		{"the same, without Origin", "in", []string{"Sec-Fetch-Site: same-origin"}},
		{"a foreign host", "Host not allowed: evil.example", []string{"Host: evil.example"}},
		{"the same address, spelled otherwise", "Host not allowed: [::ffff:127.0.0.1]:" + port,
			[]string{"Host: [::ffff:127.0.0.1]:" + port}},
		{"the same in hex", "Host not allowed: [::ffff:7f00:1]", []string{"Host: [::ffff:7f00:1]"}},
		{"a page, by its Referer", "Origin not allowed: http://evil.example/a", []string{"Referer: http://evil.example/a"}},
		{"a page of another port, by its Referer", "Origin not allowed: http://127.0.0.1:1/", []string{"Referer: http://127.0.0.1:1/"}},
		{"a listed page, by its Referer", "in", []string{"Referer: http://localhost:3000/a?b"}},
		{"the listener's own page, by its Referer", "in", []string{"Referer: http://" + own + "/a"}},
		{"a Referer that is no address", "Origin not allowed: %", []string{"Referer: %"}},
		{"a foreign address", "Host not allowed: 10.1.2.3", []string{"Host: 10.1.2.3"}},
		{"a host that begins well", "Host not allowed: localhost.evil.example", []string{"Host: localhost.evil.example"}},
		{"a foreign origin", "Origin not allowed: http://evil.example", []string{"Origin: http://evil.example"}},
		{"no origin's page", "Origin not allowed: null", []string{"Origin: null"}},
		{"another port of this host", "Origin not allowed: http://127.0.0.1:1", []string{"Origin: http://127.0.0.1:1"}},
		{"a listed one with another port", "Origin not allowed: http://localhost:3001", []string{"Origin: http://localhost:3001"}},
		{"a rebound name's own origin", "Host not allowed: evil.example:" + port,
			[]string{"Host: evil.example:" + port, "Origin: http://evil.example:" + port, "Sec-Fetch-Site: same-origin"}},
		{"localhost as the listener's own", "in", []string{"Host: localhost:" + port, "Origin: http://localhost:" + port}},
		{"the same, without Origin", "in", []string{"Host: localhost:" + port, "Sec-Fetch-Site: same-origin"}},
		{"one's page sent to the other", "Origin not allowed: http://localhost:" + port, []string{"Origin: http://localhost:" + port}},
		{"localhost of another port", "Origin not allowed: http://localhost:1",
			[]string{"Host: localhost:1", "Origin: http://localhost:1"}},
		{"a foreign page's image", "Origin not allowed: cross-site", []string{"Sec-Fetch-Site: cross-site"}},
		{"an image of a page of another port", "Origin not allowed: same-site", []string{"Sec-Fetch-Site: same-site"}},
		{"a foreign page that knows the token", "Origin not allowed: http://evil.example",
			[]string{"Origin: http://evil.example", "Authorization: Bearer secret"}},
	} {
		if got := ask1(t, "http://"+own, c.head...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLocalhostOfAnother: if another program listens on the same port of ::1, it may have served a page under
// localhost. So that origin is not one of the listener's own. Otherwise the listener also listens on ::1.
func TestLocalhostOfAnother(t *testing.T) {
	t.Parallel()
	other, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("this machine has no ::1: %v", err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	own := serve(t, &Door{}, "127.0.0.1:"+port)
	for _, head := range [][]string{{"Host: localhost:" + port, "Origin: http://localhost:" + port},
		{"Host: localhost:" + port, "Sec-Fetch-Site: same-origin"}} {
		if got := ask1(t, "http://"+own, head...); !strings.HasPrefix(got, "Origin not allowed: ") {
			t.Errorf("%v: %q", head, got)
		}
	}
	if got := ask1(t, "http://"+own, "Origin: http://"+own); got != "in" {
		t.Errorf("its own address: %q", got)
	}
	both := serve(t, &Door{}, "127.0.0.1:0")
	ask1(t, "http://"+both) // the listener binds both addresses before it answers on one
	_, port, _ = net.SplitHostPort(both)
	if got := ask1(t, "http://[::1]:"+port, "Origin: http://[::1]:"+port); got != "in" {
		t.Errorf("over ::1: %q", got)
	}
}

// Only HTTP/1.0 requests lack Host, and no browser sends those.
func TestNoHost(t *testing.T) {
	t.Parallel()
	c, err := net.Dial("tcp", serve(t, &Door{}, "127.0.0.1:0"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "GET / HTTP/1.0\r\n\r\n")
	if line, err := bufio.NewReader(c).ReadString('\n'); !strings.Contains(line, " 200 ") {
		t.Errorf("%q %v", line, err)
	}
}

// A client whose owner is unknown needs a token. A client that does not connect over loopback has an unknown owner.
func TestTokenWhereTheOwnerIsUnknown(t *testing.T) {
	t.Parallel()
	addr := serve(t, &Door{Token: func(token string) bool { return EqualSecrets(token, "secret") }, Hint: "send the token in FILE"},
		outside(t)+":0")
	for head, want := range map[string]string{
		"":                              "Not your node: connect as uid ",
		"Authorization: Bearer wrong":   "Not your node: connect as uid ",
		"Authorization: Basic secret":   "Not your node: connect as uid ",
		"Authorization: bearer  secret": "in",
	} {
		var heads []string
		if head != "" {
			heads = append(heads, head)
		}
		if got := ask1(t, "http://"+addr, heads...); !strings.HasPrefix(got, want) ||
			want != "in" && !strings.HasSuffix(got, ", or send the token in FILE") {
			t.Errorf("%q: %q, want %q", head, got, want)
		}
	}
}

// The number of connections of other users is limited, whatever they send. The node's own user can always connect.
func TestStrangersAreFew(t *testing.T) {
	t.Parallel()
	at := outside(t)
	addr := serve(t, &Door{}, "0.0.0.0:0")
	_, port, _ := net.SplitHostPort(addr)
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", net.JoinHostPort(at, port))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		c.SetReadDeadline(time.Now().Add(suite.Patience))
		return c
	}
	answered := func(c net.Conn) bool {
		io.WriteString(c, "GET / HTTP/1.0\r\n\r\n") // fails if the connection was closed
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.Contains(line, " 403 ")
	}
	var in []net.Conn
	for range maxUntrusted {
		in = append(in, dial())
	}
	for range 10 {
		if answered(dial()) {
			t.Fatalf("one more than %d was let in", maxUntrusted)
		}
	}
	if got := ask1(t, "http://127.0.0.1:"+port); got != "in" {
		t.Errorf("the node's user: %q", got)
	}
	for _, c := range in {
		if !answered(c) {
			t.Fatal("one of the first was cut off")
		}
	}
	suite.Eventually(t, "room after the others have gone", func() bool { return answered(dial()) })
}

func TestCheckOrigins(t *testing.T) {
	if err := CheckOrigins([]string{"http://localhost:3000", "https://a.example"}); err != nil {
		t.Error(err)
	}
	for _, o := range []string{"", "*", "null", "localhost", "http://localhost:3000/", "http://A.example", "//a.example", "http://"} {
		if CheckOrigins([]string{o}) == nil {
			t.Errorf("%q was taken", o)
		}
	}
}

// A new token file is readable by its owner only. A file that others can read is rejected.
func TestToken(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	made, err := Token(path)
	if err != nil || len(made) != 48 {
		t.Fatalf("%q %v", made, err)
	}
	if i, err := os.Stat(path); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", i.Mode(), err)
	}
	if again, err := Token(path); err != nil || again != made {
		t.Errorf("%q %v, want %q", again, err, made)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(path); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file for the group: %v", err)
	}
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(link); err == nil {
		t.Error("a link was followed")
	}
	if err := os.WriteFile(path+".empty", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Token(path + ".empty"); err == nil {
		t.Error("an empty token was taken")
	}
}

// A request that did not pass the door's listener has no owner.
func TestNoConnection(t *testing.T) {
	r := httptest.NewRequestWithContext(context.Background(), "GET", "/", nil)
	r.Host = ""
	if why := (&Door{}).RejectReason(r); !strings.HasPrefix(why, "Not your node") {
		t.Errorf("%q", why)
	}
}
