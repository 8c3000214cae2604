package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestConsoleAsksForConsent accepts an OAuth client on the consent page, for a part of the memory and read-only, and
// denies it the next time. The page must show the client's own description as plain text. A client with a wrong
// redirect must get no answer.
func TestConsoleAsksForConsent(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "a browser and a node are not started")
	p := &pageTest{t: t, ctx: browser(t), dir: screenshotDir(t)}
	home, base := filepath.Join(t.TempDir(), "home"), cairntest.FreePorts(t, 6)
	issuer := fmt.Sprintf("http://127.0.0.1:%d", base+1)
	p.node = cairntest.StartDevIn(t, home, "--port-base", fmt.Sprint(base), "--oauth-issuer", issuer)
	raw, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	p.token, p.base = strings.TrimSpace(string(raw)), p.node.Line.HTTP
	watch(t, p.ctx, func(s string) bool { return strings.Contains(s, "400") && strings.Contains(s, "/oauth/consent") })
	client := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<!doctype html><title>client</title><p id="back">back</p>`)
	}))
	defer client.Close()

	post := func(path, media, body string) (out map[string]any) {
		t.Helper()
		resp, err := http.Post(p.base+path, media, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	const hostile, verifier = `Agent <img src=x onerror=console.error(1)>`, "a-verifier-of-at-least-forty-three-characters-0123"
	registration, err := json.Marshal(map[string]any{"client_name": hostile, "redirect_uris": []string{client.URL + "/callback"}})
	if err != nil {
		t.Fatal(err)
	}
	id := fmt.Sprint(post("/oauth/register", "application/json", string(registration))["client_id"])
	challenge := sha256.Sum256([]byte(verifier))
	asked := url.Values{"client_id": {id}, "redirect_uri": {client.URL + "/callback"}, "response_type": {"code"},
		"code_challenge_method": {"S256"}, "state": {"s"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "resource": {issuer + "/mcp"}}
	begin := chromedp.Tasks{chromedp.Navigate(p.base + "/oauth/authorize?" + asked.Encode()), see(`input[name=token]`)}
	enter := chromedp.SendKeys(`input[name=token]`, p.token+"\n", chromedp.ByQuery)

	var text, at string
	p.step("sign in to consent", begin, screenshots(p.dir, "consent-signin"), enter, see(`fieldset`), screenshots(p.dir, "consent"),
		chromedp.Text(`main`, &text, chromedp.ByQuery))
	for _, want := range []string{hostile, "nobody has checked its name", strings.TrimPrefix(client.URL, "http://"), "default"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, text)
		}
	}
	axe := newAxe(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 768, 360} {
			var bad []string
			name := fmt.Sprintf("consent-%s-%d", theme, width)
			p.step(name, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
				chromedp.EmulateViewport(width, 800), chromedp.Evaluate(unreadable, &bad))
			if bad = append(bad, axe.violations(p, name)...); len(bad) > 0 {
				t.Errorf("%s:\n\t%s", name, strings.Join(bad, "\n\t"))
			}
		}
	}
	back := see(`#back`)
	p.step("allow", click(`input[name=write]`),
		chromedp.SendKeys(`input[name=namespaces]`, "agents/one, agents/two", chromedp.ByQuery), click(`button.primary`),
		back, chromedp.Location(&at))
	to, err := url.Parse(at)
	if err != nil || to.Query().Get("state") != "s" || to.Query().Get("iss") != issuer {
		t.Fatalf("led to %s, %v", at, err)
	}
	got := post("/oauth/token", "application/x-www-form-urlencoded",
		url.Values{"grant_type": {"authorization_code"}, "code": {to.Query().Get("code")}, "client_id": {id},
			"redirect_uri": {client.URL + "/callback"}, "code_verifier": {verifier}}.Encode())
	if got["scope"] != "read" || got["access_token"] == nil {
		t.Errorf("issued %v", got)
	}
	if listed := fmt.Sprint(p.ask("GET", "/v1/admin/tokens", nil)); !strings.Contains(listed, "oauth "+hostile) ||
		!strings.Contains(listed, "[agents/one agents/two]") {
		t.Errorf("the tokens are %s", listed)
	}

	p.step("deny", begin, enter, see(`fieldset`), click(`button:not(.primary)`), back, chromedp.Location(&at))
	if !strings.Contains(at, "error=access_denied") {
		t.Errorf("denied, and led to %s", at)
	}
	asked.Set("code_challenge_method", "plain")
	p.step("ask wrongly", chromedp.Navigate(p.base+"/oauth/authorize?"+asked.Encode()), see(`input[name=token]`), enter,
		click(`.wrong + button`), back, chromedp.Location(&at))
	if !strings.Contains(at, "error=invalid_request") {
		t.Errorf("asked wrongly, and led to %s", at)
	}
	asked.Set("redirect_uri", client.URL+"/other")
	p.step("another redirect", chromedp.Navigate(p.base+"/oauth/authorize?"+asked.Encode()), see(`input[name=token]`), enter,
		waitTrue(`document.querySelector(".wrong")?.textContent.includes("redirect_uri") && !document.querySelector("main button")`))
}
