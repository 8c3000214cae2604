package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	saving "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestConsoleAdministers creates, limits and removes tokens and databases. A wrong name in the confirmation must
// remove nothing, and the audit must show the changes.
func TestConsoleAdministers(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	var secret, audit string
	p.step("create a token", chromedp.Navigate(p.base+"/#admin"), see(`input[name=label]`),
		chromedp.SendKeys(`input[name=label]`, "for-reading"+kb.Enter, chromedp.ByQuery), see(`dialog pre.token`),
		chromedp.Text(`dialog pre.token`, &secret, chromedp.ByQuery),
		waitTrue(`JSON.parse(document.querySelector("dialog pre.connect").textContent).mcpServers.cairn.headers.Authorization === "Bearer " + document.querySelector("dialog pre.token").textContent`),
		chromedp.KeyEvent(kb.Escape), see(`[data-token=for-reading]`), screenshots(p.dir, "admin"))
	if me := gateway(t, p.node, secret, "GET", "/v1/admin/me", nil); len(me["scopes"].([]any)) != 1 {
		t.Errorf("the token may %v, want read alone", me["scopes"])
	}
	p.step("limit it", click(`[data-token=for-reading] button:not(.danger)`), see(`dialog input[name=max_rps]`),
		chromedp.SetValue(`dialog input[name=max_rps]`, "7", chromedp.ByQuery), click(`dialog button.primary`),
		see(`dialog input[name=confirm]`), chromedp.SendKeys(`dialog input[name=confirm]`, "for-reading"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`dialog`, chromedp.ByQuery),
		waitTrue(`document.querySelector("[data-token=for-reading]").textContent.includes("7 a second")`))
	p.step("a wrong name", click(`[data-token=for-reading] .danger`), see(`dialog input[name=confirm]`),
		chromedp.SendKeys(`dialog input[name=confirm]`, "for"+kb.Enter, chromedp.ByQuery),
		waitTrue(`document.querySelector("dialog .danger").disabled`))
	gateway(t, p.node, secret, "GET", "/v1/admin/me", nil)
	p.step("revoke", chromedp.SendKeys(`dialog input[name=confirm]`, "-reading"+kb.Enter, chromedp.ByQuery),
		waitTrue(`document.querySelector("[data-token=for-reading] .pill.bad")?.textContent === "revoked"`))

	p.step("create a database", chromedp.Navigate(p.base+"/#admin/databases"), see(`input[name=newdatabase]`),
		chromedp.SendKeys(`input[name=newdatabase]`, "garden"+kb.Enter, chromedp.ByQuery), see(`[data-database=garden]`),
		click(`[data-database=garden] button:not(.danger)`), see(`dialog input[name=max_memories]`),
		chromedp.SetValue(`dialog input[name=max_memories]`, "12", chromedp.ByQuery), click(`dialog button.primary`),
		see(`dialog input[name=confirm]`),
		chromedp.SendKeys(`dialog input[name=confirm]`, "garden"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`dialog`, chromedp.ByQuery),
		waitTrue(`document.querySelector("[data-database=garden]").textContent.includes("12")`))
	if q := p.ask("GET", "/v1/admin/databases/garden/quota", nil); q["max_memories"] != 12.0 {
		t.Errorf("its quota is %v", q)
	}
	p.step("delete it", click(`[data-database=garden] .danger`), see(`dialog input[name=confirm]`),
		shoot(p.dir, "delete-database"),
		chromedp.SendKeys(`dialog input[name=confirm]`, "garden"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`[data-database=garden]`, chromedp.ByQuery),
		chromedp.Navigate(p.base+"/#admin/audit"),
		waitTrue(`document.querySelector("main").textContent.includes("Who changed what")`),
		chromedp.Text(`main`, &audit, chromedp.ByQuery), screenshots(p.dir, "admin-audit"))
	for _, want := range []string{"garden", "Who changed what"} {
		if !strings.Contains(audit, want) {
			t.Errorf("what was done does not say %q: %s", want, audit)
		}
	}
}

// TestConsoleShowsKeys checks that the console shows the ids and ages of a home's keys, and the names and expiry of
// certificates with the required actions. No answer may contain a key.
func TestConsoleShowsKeys(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	const answer = `{ const go = fetch; window.fetch = async (path, o) => { if (!path.startsWith("/v1/cluster/keys")) return go(path, o); const body = await (await go(path, o)).json(), now = Date.now() / 1000, [one] = body.nodes;
		const shown = (to, not_after, state) => ({ shown_to: to, subject: "CN=node-2", issuer: "CN=cairn", names: ["node-2", "10.0.0.2"], not_before: now - 86400 * 300, not_after, state });
		body.nodes.push({ ...one, node_id: 2, encrypted: true, rewriting: ["log", "state"], keys: [{ id: "0badf00d", master: "11111111", active: false, created_at: now - 86400 * 90 }, { id: "0c0ffee0", master: "11111111", active: true, created_at: now - 600 }],
			certificates: [shown("clients", now + 86400 * 3 + 60, "ends_soon"), shown("peers", now + 4000, "ends_soon")], ports: [{ name: "wire", addr: "10.0.0.2:7437", tls: true, loopback: false }, { name: "http", addr: "10.0.0.2:7438", tls: false, loopback: false }] },
			{ ...one, node_id: 3, error: "did not answer", keys: [], ports: [] });
		return new Response(JSON.stringify(body)); }; }`
	const text = `document.querySelector(".keys")?.textContent`
	var alone, of3, first, later string
	p.step("alone", chromedp.Navigate(p.base+"/#admin/keys"), see(`[data-home="1"]`), chromedp.Evaluate(text, &alone))
	p.step("of three", chromedp.Navigate(p.base+"/#log"), see(`ol.log`), chromedp.Evaluate(answer, nil),
		chromedp.Navigate(p.base+"/#admin/keys"), see(`[data-key="0c0ffee0"]`), chromedp.Evaluate(text, &of3),
		chromedp.Evaluate(`document.querySelector("[data-certificate='2 peers'] [data-until]").textContent`, &first),
		chromedp.Evaluate(`window.before = document.querySelector("[data-certificate='2 peers'] [data-until]").textContent`, nil),
		waitTrue(`document.querySelector("[data-certificate='2 peers'] [data-until]").textContent !== window.before`),
		chromedp.Evaluate(`document.querySelector("[data-certificate='2 peers'] [data-until]").textContent`, &later),
		chromedp.ScrollIntoView(`.keys`, chromedp.ByQuery), screenshots(p.dir, "keys"))
	for said, wants := range map[string][]string{
		alone: {"Node 1", "not encrypted", "No node has a certificate.", "plain, this machine only"},
		of3: {"Node 3 did not answer", "The home of node 1 is not encrypted, while others are.",
			"The certificate that node 2 shows to clients ends in 3 d",
			"Port http of node 2 is plain text and reachable from other machines: tokens and memories can be read on the way. Configure [tls].",
			"rotating: log, state left", "90 d ago", "10.0.0.2"},
	} {
		for _, want := range wants {
			if !strings.Contains(said, want) {
				t.Errorf("it does not say %q: %s", want, said)
			}
		}
	}
	if !strings.HasPrefix(first, "in 01:06:") || first == later {
		t.Errorf("a certificate that ends within the hour says %q, then %q", first, later)
	}
	var bad []string
	axe := newAxe(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			p.step("readable",
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
				chromedp.EmulateViewport(width, 800), chromedp.Evaluate(unreadable, &bad))
			if bad = append(bad, axe.violations(p, "keys")...); len(bad) > 0 {
				t.Errorf("%s at %d:\n\t%s", theme, width, strings.Join(bad, "\n\t"))
			}
		}
	}
}

// TestConsoleKeeps checks that the page of members describes the effect of losing or adding one, that a backup can be
// saved, and that policies can be set. Each change must ask for a name as confirmation.
func TestConsoleKeeps(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	saved := t.TempDir()
	var members string
	p.step("members", chromedp.Navigate(p.base+"/#admin/members"), see(`[data-member="1"]`),
		chromedp.Text(`[data-member="1"]`, &members, chromedp.ByQuery), screenshots(p.dir, "admin-keeping"))
	if !strings.Contains(members, "voter") || !strings.Contains(members, "Leader") {
		t.Errorf("the only member is %q", members)
	}
	p.step("add one that is not there", chromedp.SendKeys(`input[name=joining]`, "2", chromedp.ByQuery),
		chromedp.SendKeys(`input[name=joinaddr]`, "127.0.0.1:1"+kb.Enter, chromedp.ByQuery), see(`dialog input[name=confirm]`),
		waitTrue(`document.querySelector("dialog").textContent.includes("Add node 2 at 127.0.0.1:1")`),
		chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent(`dialog`, chromedp.ByQuery))
	p.step("policies", chromedp.Navigate(p.base+"/#admin/memory"), see(`input[name=working_ttl_secs]`),
		screenshots(p.dir, "admin-memory"), chromedp.SetValue(`input[name=working_ttl_secs]`, "3600", chromedp.ByQuery),
		click(`form[aria-label=Policies] button`), see(`dialog input[name=confirm]`),
		chromedp.SendKeys(`dialog input[name=confirm]`, "default"+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`dialog`, chromedp.ByQuery), see(`#toast.on`))
	if got := p.ask("GET", "/v1/admin/settings", nil); got["working_ttl_secs"] != 3600.0 {
		t.Errorf("policies: %v", got)
	}
	p.step("embedder", waitTrue(`document.querySelector("main").textContent.includes("Embedder of default")`))
	p.step("a backup", chromedp.Navigate(p.base+"/#admin/backup"), see(`form[aria-label="Make a backup"] button`),
		screenshots(p.dir, "admin-backup"),
		saving.SetDownloadBehavior(saving.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(saved),
		click(`form[aria-label="Make a backup"] button`),
		waitTrue(`document.querySelector("main").textContent.includes("cairn backup verify DIR")`))
	suite.Eventually(t, "a saved file", func() bool {
		files, err := filepath.Glob(filepath.Join(saved, "state-*.cairn"))
		return err == nil && len(files) == 1
	})
	file := filepath.Join(saved, "garden.jsonl")
	var lines strings.Builder
	for i := range 20_000 { // more than one part of an import
		fmt.Fprintf(&lines, "{\"text\":\"bed %d has tülips and a long row of stones\",\"namespace\":\"garden\"}\n", i)
	}
	if err := os.WriteFile(file, []byte(strings.TrimSpace(lines.String())), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is stored
		p.step("memories from a file", chromedp.SetUploadFiles(`input[name=memories]`, []string{file}, chromedp.ByQuery),
			click(`form[aria-label="Store memories from a file"] button`), see(`dialog input[name=confirm]`),
			chromedp.SendKeys(`dialog input[name=confirm]`, "default"+kb.Enter, chromedp.ByQuery),
			waitTrue(`document.querySelector("main").textContent.includes("20,000 memories of garden.jsonl stored in default")`))
	}
	if got := p.ask("GET", "/v1/stats?namespace=garden", nil); got["active_memories"] != 20_000.0 {
		t.Errorf("stored: %v", got)
	}
	if out, code := cairntest.Run(t, "backup", "verify", saved); code != 0 {
		t.Errorf("what was saved is no backup: %s", out)
	}
}
