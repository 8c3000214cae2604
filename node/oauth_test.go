package node_test

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/node/oauth"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/suite"
)

const (
	issuer   = "https://cairn.test"
	callback = "http://127.0.0.1:4711/callback"
	verifier = "a-verifier-of-at-least-forty-three-characters-0123"
)

// withOAuth configures nodes as issuers of access tokens.
func withOAuth(_ int, cfg *node.Config) { cfg.OAuth.Issuer = issuer }

func challengeOf(verifier string) string {
	h := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// form posts a form to the token endpoint.
func (w *web) form(path string, fields map[string]string) (int, obj) {
	w.t.Helper()
	values := url.Values{}
	for name, v := range fields {
		values.Set(name, v)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.base+path, strings.NewReader(values.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.do(req)
}

// register registers a client, and returns its authorization request.
func register(w *web) obj {
	w.t.Helper()
	status, c := w.with("").send("POST", "/oauth/register",
		obj{"client_name": "Agent\u202e", "redirect_uris": []string{callback, "https://agent.test/cb?x=1"},
			"grant_types": []string{"authorization_code"}, "token_endpoint_auth_method": "client_secret_post", "application_type": "native"})
	if status != http.StatusCreated || c["token_endpoint_auth_method"] != "none" || c["application_type"] != "native" ||
		c["client_name"] != "Agent" {
		w.t.Fatalf("register: %d %v", status, c)
	}
	return obj{"client_id": c["client_id"], "redirect_uri": callback, "response_type": "code",
		"code_challenge": challengeOf(verifier), "code_challenge_method": "S256",
		"resource": issuer + "/mcp", "state": "s t"}
}

// and returns an object with additional fields.
func and(o, more obj) obj {
	o = maps.Clone(o)
	maps.Copy(o, more)
	return o
}

// allowed consents as a person and returns the code.
func allowed(w *web, asked obj, more obj) string {
	w.t.Helper()
	status, a := w.send("POST", "/oauth/consent", and(asked, and(obj{"decision": "allow", "scopes": []string{"read", "write"}}, more)))
	to, _ := a["redirect"].(string)
	u, err := url.Parse(to)
	if status != http.StatusOK || err != nil {
		w.t.Fatalf("allow: %d %v", status, a)
	}
	if q := u.Query(); q.Get("state") != "s t" || q.Get("iss") != issuer || !strings.HasPrefix(to, asked["redirect_uri"].(string)) {
		w.t.Errorf("answered at %s", to)
	}
	return u.Query().Get("code")
}

// redeem returns the form with which a client redeems a code.
func redeem(asked obj, code string) map[string]string {
	return map[string]string{"grant_type": "authorization_code", "code": code, "client_id": asked["client_id"].(string),
		"redirect_uri":  asked["redirect_uri"].(string),
		"code_verifier": verifier, "resource": issuer + "/mcp"}
}

func refresh(asked obj, token any) map[string]string {
	return map[string]string{"grant_type": "refresh_token", "refresh_token": token.(string),
		"client_id": asked["client_id"].(string), "resource": issuer + "/mcp"}
}

func (w *web) issued(fields map[string]string) obj {
	w.t.Helper()
	status, a := w.form("/oauth/token", fields)
	if status != http.StatusOK || a["token_type"] != "Bearer" || a["expires_in"] != 3600.0 {
		w.t.Fatalf("token: %d %v", status, a)
	}
	return a
}

// TestOAuth registers a client, gives consent and uses the tokens, each on another node. The tokens have only the
// agreed rights, and a second use of a refresh token ends all of them.
func TestOAuth(t *testing.T) {
	t.Parallel()
	c := startWith(t, 3, withOAuth)
	a, b, d := c.web(0), c.web(1), c.web(2)
	about := a.with("").ok("GET", "/.well-known/oauth-protected-resource/mcp", nil)
	if about["resource"] != issuer+"/mcp" || fmt.Sprint(about["authorization_servers"]) != "["+issuer+"]" {
		t.Errorf("resource: %v", about)
	}
	meta := b.with("").ok("GET", "/.well-known/oauth-authorization-server", nil)
	if meta["issuer"] != issuer || meta["client_id_metadata_document_supported"] != true ||
		fmt.Sprint(meta["code_challenge_methods_supported"]) != "[S256]" {
		t.Errorf("server: %v", meta)
	}
	resp, err := http.Post(a.base+"/mcp", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if said := resp.Header.Get("WWW-Authenticate"); said != `Bearer resource_metadata="`+issuer+`/.well-known/oauth-protected-resource/mcp", scope="read write"` {
		t.Errorf("challenge: %s", said)
	}

	mine := a.createToken(obj{"label": "mine"})
	asked := register(a)
	person := b.with(mine)
	suite.Eventually(t, "the token is known there", func() bool { status, _ := person.send("GET", "/v1/stats", nil); return status == 200 })
	if q := person.ok("POST", "/oauth/consent", asked); q["client_name"] != "Agent" || q["client_host"] != nil ||
		q["redirect_host"] != "127.0.0.1:4711" ||
		q["database"] != "default" || q["label"] != "mine" || fmt.Sprint(q["scopes"]) != "[read write]" {
		t.Errorf("shown: %v", q)
	}
	code := allowed(person, asked, obj{"namespaces": []string{"agents/one"}})
	first := d.issued(redeem(asked, code))
	if first["scope"] != "read write" {
		t.Errorf("scope: %v", first["scope"])
	}
	client := a.with(first["access_token"].(string))
	if _, _, failure := client.tool("remember", obj{"text": "the agent was here"}); failure != "" {
		t.Errorf("remember: %s", failure)
	}
	if _, _, failure := client.tool("recall",
		obj{"query": "who was here", "namespace": "default"}); !strings.Contains(failure, "bound to agents/one/") {
		t.Errorf("elsewhere: %s", failure)
	}
	for _, path := range []string{"/v1/admin/me", "/v1/memories"} { // access tokens are valid only at /mcp
		if status, _ := client.send("GET", path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s: %d", path, status)
		}
	}
	if status, _ := client.send("POST", "/oauth/consent", asked); status != http.StatusUnauthorized {
		t.Errorf("an access token gave a consent: %d", status)
	}

	second := b.issued(refresh(asked, first["refresh_token"]))
	client = d.with(second["access_token"].(string))
	if status, _, failure := client.tool("status", obj{}); status != http.StatusOK || failure != "" {
		t.Errorf("refreshed: %d %s", status, failure)
	}
	if status, e := a.form("/oauth/token", refresh(asked, first["refresh_token"])); status != http.StatusBadRequest ||
		e["error"] != "invalid_grant" {
		t.Errorf("a refresh token twice: %d %v", status, e)
	}
	a.ends(client)
	if status, e := d.form("/oauth/token", refresh(asked, second["refresh_token"])); e["error"] != "invalid_grant" {
		t.Errorf("the family lives: %d %v", status, e)
	}
	audits := fmt.Sprint(a.ok("GET", "/v1/admin/audit", nil))
	for _, want := range []string{"consent", `label "oauth Agent"`, "namespaces agents/one/",
		"the client has redeemed its code", "revoke_token"} {
		if !strings.Contains(audits, want) {
			t.Errorf("the audit lacks %q: %s", want, audits)
		}
	}
}

// ends sends requests with a client's access token until the node knows that it has ended.
func (w *web) ends(client *web) {
	w.t.Helper()
	suite.Eventually(w.t, "the access token ends", func() bool {
		status, header, _ := client.tool("status", obj{})
		return status == http.StatusUnauthorized && strings.Contains(header.Get("WWW-Authenticate"), `error="invalid_token"`)
	})
}

// TestOAuthIsOff checks that without an issuer no route of OAuth exists.
func TestOAuthIsOff(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for _, r := range []string{"GET /.well-known/oauth-authorization-server", "POST /oauth/register", "GET /oauth/authorize",
		"POST /oauth/consent", "POST /oauth/token"} {
		method, path, _ := strings.Cut(r, " ")
		if status, a := w.send(method, path, nil); status != http.StatusNotFound {
			t.Errorf("%s: %d %v", r, status, a)
		}
	}
	for bad, good := range map[string]string{"http://cairn.test": "https://cairn.test",
		"https://cairn.test/": "http://127.0.0.1:1", "https://cairn.test/mcp": "http://localhost", "cairn.test": "http://[::1]:80"} {
		for issuer, want := range map[string]bool{bad: false, good: true} {
			if err := (node.Config{Home: "x", OAuth: oauth.Settings{Issuer: issuer}}).Validate(); (err == nil) != want {
				t.Errorf("%s: %v", issuer, err)
			}
		}
	}
}

// TestOAuthRefuses checks invalid requests of a client or an attacker.
func TestOAuthRefuses(t *testing.T) {
	t.Parallel()
	log := &lines{}
	w := startWith(t, 1, func(i int, cfg *node.Config) {
		withOAuth(i, cfg)
		cfg.Limits.FailedLogins = 10_000
		cfg.Logger = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}).web(0)
	mine := w.createToken(obj{"label": "mine"})
	person, asked := w.with(mine), register(w)
	other := register(w)

	for _, x := range []struct {
		what   string
		body   obj
		status int
		code   string
	}{
		{"no redirect URI", obj{"redirect_uris": []string{}}, 400, "invalid_redirect_uri"},
		{"plain HTTP", obj{"redirect_uris": []string{"http://agent.test/cb"}}, 400, "invalid_redirect_uri"},
		{"another scheme", obj{"redirect_uris": []string{"javascript:alert(1)"}}, 400, "invalid_redirect_uri"},
		{"a fragment", obj{"redirect_uris": []string{"https://agent.test/cb#x"}}, 400, "invalid_redirect_uri"},
		{"a user", obj{"redirect_uris": []string{"https://a@agent.test/cb"}}, 400, "invalid_redirect_uri"},
		{"a name that begins with loopback", obj{"redirect_uris": []string{"http://127.0.0.1.agent.test/"}}, 400, "invalid_redirect_uri"},
		{"a type", obj{"redirect_uris": []string{callback}, "application_type": "x"}, 400, "invalid_client_metadata"},
		{"too large", obj{"redirect_uris": []string{callback}, "client_name": strings.Repeat("x", 20<<10)}, 413, "too_large"},
	} {
		if status, a := w.with("").send("POST", "/oauth/register", x.body); status != x.status || a["error"] != x.code {
			t.Errorf("register with %s: %d %v", x.what, status, a)
		}
	}

	reader := w.with(w.createToken(obj{"scopes": []string{"read"}}))
	bound := w.with(w.createToken(obj{"namespaces": []string{"agents/billing"}}))
	for _, x := range []struct {
		what   string
		person *web
		ask    obj
		status int
		code   string
		told   bool // the client learns it as well
	}{
		{"without a token", w.with(""), nil, 401, "unauthenticated", false},
		{"with a wrong token", w.with("ydb_wrong"), nil, 401, "unauthenticated", false},
		{"with the cluster secret", w, obj{"decision": "allow", "scopes": []string{"read"}}, 401, "unauthenticated", false},
		{"of no client", person, obj{"client_id": "cairn_client_x"}, 400, "invalid_client", false},
		{"of a document on loopback", person, obj{"client_id": "https://127.0.0.1/client"}, 400, "invalid_client", false},
		{"with another redirect", person, obj{"redirect_uri": "https://agent.test/cb"}, 400, "invalid_request", false},
		{"with another path on loopback", person, obj{"redirect_uri": "http://127.0.0.1:4711/other"}, 400, "invalid_request", false},
		{"with another host on loopback", person, obj{"redirect_uri": "http://localhost:4711/callback"}, 400, "invalid_request", false},
		{"with a long state", person, obj{"state": strings.Repeat("x", 5000)}, 400, "invalid_request", false},
		{"for a token at once", person, obj{"response_type": "token"}, 400, "unsupported_response_type", true},
		{"without PKCE", person, obj{"code_challenge": ""}, 400, "invalid_request", true},
		{"with plain PKCE", person, obj{"code_challenge_method": "plain"}, 400, "invalid_request", true},
		{"for another resource", person, obj{"resource": "https://other.test/mcp"}, 400, "invalid_target", true},
		{"for an unknown scope", person, obj{"scope": "read admin"}, 400, "invalid_scope", true},
		{"for a scope that the person lacks", reader, obj{"scope": "write"}, 400, "invalid_scope", true},
		{"for more than the person has", reader, obj{"decision": "allow", "scopes": []string{"read", "write"}}, 400,
			"invalid_scope", false},
		{"for more than was asked", person, obj{"scope": "read", "decision": "allow", "scopes": []string{"read", "write"}},
			400, "invalid_scope", false},
		{"for nothing", person, obj{"decision": "allow"}, 400, "invalid_request", false},
		{"for another's namespace", bound,
			obj{"decision": "allow", "scopes": []string{"read"}, "namespaces": []string{"agents"}}, 403, "namespace_denied", false},
		{"with another decision", person, obj{"decision": "perhaps"}, 400, "invalid_request", false},
	} {
		status, a := x.person.send("POST", "/oauth/consent", and(asked, x.ask))
		to, _ := a["redirect"].(string)
		if status != x.status || a["error"] != x.code || (to != "") != x.told || x.told && !strings.Contains(to, "error="+x.code) {
			t.Errorf("consent %s: %d %v", x.what, status, a)
		}
	}
	if a := person.ok("POST", "/oauth/consent",
		and(asked, obj{"decision": "deny"})); !strings.HasPrefix(a["redirect"].(string), callback+"?error=access_denied&iss=") {
		t.Errorf("denied: %v", a)
	}
	if a := reader.ok("POST", "/oauth/consent",
		and(asked, obj{"redirect_uri": "http://127.0.0.1:9/callback"})); fmt.Sprint(a["scopes"]) != "[read]" {
		t.Errorf("a reader may give %v", a)
	}
	web := and(asked, obj{"redirect_uri": "https://agent.test/cb?x=1"})
	if code := allowed(bound, web, nil); code == "" { // by default bound like the person's token
		t.Error("no code")
	}

	code := allowed(person, asked, nil)
	for what, change := range map[string]map[string]string{
		"another verifier": {"code_verifier": verifier + "x"}, "no verifier": {"code_verifier": ""},
		"a short verifier": {"code_verifier": "x"},
		"another redirect": {"redirect_uri": "http://127.0.0.1:4712/callback"},
		"another client":   {"client_id": other["client_id"].(string)}, "no client": {"client_id": ""},
		"another code": {"code": code[:len(code)-2] + "xx"}, "no code": {"code": ""},
		"a code as a refresh token": {"grant_type": "refresh_token", "refresh_token": code},
	} {
		fields := redeem(asked, code)
		maps.Copy(fields, change)
		if status, a := w.form("/oauth/token", fields); status != 400 || a["error"] != "invalid_grant" {
			t.Errorf("token with %s: %d %v", what, status, a)
		}
	}
	for want, change := range map[string]map[string]string{"invalid_target": {"resource": "https://other.test/mcp"},
		"unsupported_grant_type": {"grant_type": "password"}, "invalid_scope": {"scope": "admin"}} {
		fields := redeem(asked, code)
		maps.Copy(fields, change)
		if status, a := w.form("/oauth/token", fields); status != 400 || a["error"] != want {
			t.Errorf("%s: %d %v", want, status, a)
		}
	}
	if status, a := w.with("").send("POST", "/oauth/token", redeem(asked, code)); status != 400 || a["error"] != "invalid_request" {
		t.Errorf("JSON instead of a form: %d %v", status, a)
	}
	first := w.issued(redeem(asked, code)) // the wrong attempts did not use up the code
	client := w.with(first["access_token"].(string))
	if status, _, failure := client.tool("status", obj{}); status != 200 || failure != "" {
		t.Errorf("status: %d %s", status, failure)
	}
	for what, token := range map[string]any{"a refresh token": first["refresh_token"], "a code": code,
		"a client": asked["client_id"], "nothing": "cairn_access_"} {
		if status, _, _ := w.with(token.(string)).tool("status", obj{}); status != http.StatusUnauthorized {
			t.Errorf("%s was taken for an access token: %d", what, status)
		}
	}
	if status, a := w.form("/oauth/token", redeem(asked, code)); status != 400 || a["error"] != "invalid_grant" {
		t.Errorf("a code twice: %d %v", status, a)
	}
	w.ends(client)

	kept := w.with(w.issued(redeem(asked, allowed(person, asked, nil)))["access_token"].(string))
	w.ok("POST", "/v1/admin/tokens/revoke", obj{"token": mine})
	w.ends(kept)
	if text := log.String(); !strings.Contains(text, "POST /oauth/token") || strings.Contains(text, "cairn_") ||
		strings.Contains(text, verifier) || strings.Contains(text, mine) {
		t.Errorf("the log has a secret, or no requests: %s", text)
	}
}

// TestOAuthExpires checks that codes, access tokens and refresh tokens expire, and never outlive the token of the
// person.
func TestOAuthExpires(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		what   string
		change func(*node.Config)
		ends   func(w *web, asked obj, code string)
	}{
		{"code", func(c *node.Config) { c.OAuth.CodeLife = time.Nanosecond }, func(w *web, asked obj, code string) {
			if _, a := w.form("/oauth/token", redeem(asked, code)); a["error"] != "invalid_grant" {
				t.Errorf("a late code: %v", a)
			}
		}},
		{"access", func(c *node.Config) { c.OAuth.AccessLife = time.Nanosecond }, func(w *web, asked obj, code string) {
			_, a := w.form("/oauth/token", redeem(asked, code))
			if status, _, _ := w.with(a["access_token"].(string)).tool("status", obj{}); status != http.StatusUnauthorized {
				t.Errorf("a late access token: %d", status)
			}
		}},
		{"refresh", func(c *node.Config) { c.OAuth.RefreshLife = time.Nanosecond }, func(w *web, asked obj, code string) {
			first := w.issued(redeem(asked, code))
			if _, a := w.form("/oauth/token", refresh(asked, first["refresh_token"])); a["error"] != "invalid_grant" {
				t.Errorf("a late refresh token: %v", a)
			}
			if status, _, _ := w.with(first["access_token"].(string)).tool("status", obj{}); status != http.StatusUnauthorized {
				t.Errorf("its consent lives on: %d", status)
			}
		}},
	} {
		t.Run(x.what, func(t *testing.T) {
			w := startWith(t, 1, func(i int, cfg *node.Config) {
				withOAuth(i, cfg)
				x.change(cfg)
			}).web(0)
			asked := register(w)
			x.ends(w, asked, allowed(w.with(w.createToken(obj{})), asked, nil))
		})
	}
}

// TestOAuthIsThrottled checks that an address that registers many clients, or guesses codes, must wait like one with
// wrong tokens.
func TestOAuthIsThrottled(t *testing.T) {
	t.Parallel()
	w := startWith(t, 1, func(i int, cfg *node.Config) {
		withOAuth(i, cfg)
		cfg.Limits.FailedLogins = 3
	}).web(0)
	asked := register(w)
	for range 2 {
		if status, a := w.form("/oauth/token", redeem(asked, "cairn_code_x")); status != 400 && status != 429 {
			t.Errorf("a wrong code: %d %v", status, a)
		}
	}
	for _, ask := range []func() (int, obj){
		func() (int, obj) { return w.form("/oauth/token", redeem(asked, "cairn_code_x")) },
		func() (int, obj) {
			return w.with("").send("POST", "/oauth/register", obj{"redirect_uris": []string{callback}})
		},
	} {
		limited := false
		for range 20 {
			status, _ := ask()
			limited = limited || status == http.StatusTooManyRequests
		}
		if !limited {
			t.Error("never told to wait")
		}
	}
}

// TestAConsentThatARestoreLost checks that a client whose consent is newer than a restored backup is told at once that
// its tokens are invalid, so that it asks the person again.
func TestAConsentThatARestoreLost(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "backups")
	c := startWith(t, 1, func(i int, cfg *node.Config) {
		withOAuth(i, cfg)
		cfg.Backup = operate.BackupPlan{Dir: dir, Interval: 50 * time.Millisecond}
	})
	w := c.web(0)
	mine := w.createToken(obj{"label": "mine"})
	made := c.nodes[0].Service().Applied()
	suite.Eventually(t, "a backup", func() bool {
		files, err := archive.List(dir)
		return err == nil && len(files) > 0 && files[len(files)-1].Index >= made
	})
	for range 5 { // the restored log ends long before the consent
		w.ok("POST", "/v1/remember", obj{"text": "the quay is closed in March"})
	}
	asked := register(w)
	tokens := w.issued(redeem(asked, allowed(w.with(mine), asked, nil)))
	c.stop(0)
	cfg := &c.cfgs[0]
	cfg.Home, cfg.Backup = filepath.Join(t.TempDir(), "copy"), operate.BackupPlan{}
	if _, err := home.Restore(t.Context(), cfg.Files(), dir, archive.Target{Index: made}); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	w = c.web(0)
	status, header, failure := w.with(tokens["access_token"].(string)).tool("status", obj{})
	if status != http.StatusUnauthorized || !strings.Contains(header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("an access token: %d %s", status, failure)
	}
	if status, e := w.form("/oauth/token", refresh(asked, tokens["refresh_token"])); status != http.StatusBadRequest || e["error"] != "invalid_grant" {
		t.Errorf("a refresh token: %d %v", status, e)
	}
}
