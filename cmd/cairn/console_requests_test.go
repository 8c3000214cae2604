package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestConsoleRequests runs an operation from a form that is generated from its description, and the six requests of
// the tutorial in turn. Operations that remove data must ask for a name as confirmation.
func TestConsoleRequests(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	step := func(i int) chromedp.Action { return click(fmt.Sprintf(`.steps li:nth-child(%d) button`, i)) }
	ran := func(i int) chromedp.Action {
		return waitTrue(fmt.Sprintf(`document.querySelector('[data-step="%d"]')?.textContent`, i))
	}
	p.step("form", chromedp.Navigate(p.base+"/#requests"), see(`[data-operation=recall]`),
		waitTrue(`document.querySelector("pre.code").textContent.includes("curl")`), screenshots(p.dir, "requests"), click(`.tutorial summary`))
	for i := 1; i <= 5; i++ {
		p.step(fmt.Sprintf("step %d", i), step(i), see(`.tutorial button.primary`), click(`.tutorial button.primary`), ran(i))
	}
	var rid, look string
	p.step("history", chromedp.Text(`[data-step="5"]`, &look, chromedp.ByQuery), screenshots(p.dir, "tutorial"),
		chromedp.Value(`#path-rid`, &rid, chromedp.ByQuery))
	if !strings.HasPrefix(look, "1 earlier version") {
		t.Errorf("the tutorial says %q", look)
	}

	// A wrong name runs nothing; the right one does.
	p.step("ask for the name", step(6), click(`.tutorial button.primary`), see(`dialog input[name=confirm]`),
		chromedp.SendKeys(`dialog input[name=confirm]`, "another"+kb.Enter, chromedp.ByQuery),
		waitTrue(`document.querySelector("dialog .danger")?.disabled`), screenshots(p.dir, "confirm-by-name"))
	if m := p.ask("GET", "/v1/memory/"+rid, nil); m["consolidation_status"] != "active" {
		t.Errorf("with a wrong name it is %v", m["consolidation_status"])
	}
	p.step("forget", chromedp.SendKeys(`dialog input[name=confirm]`,
		strings.Repeat(kb.Backspace, len("another"))+rid+kb.Enter, chromedp.ByQuery),
		chromedp.WaitNotPresent(`dialog`, chromedp.ByQuery), ran(6))
	if m := p.ask("GET", "/v1/memory/"+rid, nil); m["consolidation_status"] != "tombstoned" {
		t.Errorf("with its name it is %v", m["consolidation_status"])
	}

	// A missing required field prevents the request.
	var text string
	p.step("required", chromedp.Navigate(p.base+"/#requests/get_claims"), see(`[data-operation=get_claims]`),
		click(`form[data-operation] button.primary`), see(`#toast.bad`), chromedp.Text(`#toast`, &text, chromedp.ByQuery))
	if text != "entity is required." {
		t.Errorf("it says %q", text)
	}

	// A stream is shown as it arrives, until it is stopped.
	p.step("stream", chromedp.Navigate(p.base+"/#requests/events"), see(`[data-operation=events]`),
		click(`form[data-operation] button.primary`), see(`[data-status="200"]`))
	p.ask("POST", "/v1/remember", map[string]any{"text": "while the stream is read"})
	p.step("stop", waitTrue(`document.querySelector("pre.answer").textContent.includes("event: ")`),
		chromedp.Click(`//button[text()="Stop"]`, chromedp.BySearch), waitTrue(`!document.querySelector("[data-status] > .row button")`))

	// Every operation has a form.
	var without []string
	p.step("all of them", chromedp.Evaluate(`(async () => {
		const without = [];
		for (const o of [...document.querySelectorAll("select[name=operation] option")].map((o) => o.value)) {
			location.hash = "#requests/" + o;
			for (let i = 0; i < 600 && !document.querySelector('form[data-operation="' + o + '"]'); i++) await new Promise(requestAnimationFrame);
			const f = document.querySelector('form[data-operation="' + o + '"]');
			if (!f || [...f.querySelectorAll("input, select, textarea")].some((e) => !e.labels?.length && !e.getAttribute("aria-label"))) without.push(o);
		}
		return without;
	})()`, &without, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	if len(without) > 0 {
		t.Errorf("no form, or one with a field that has no label: %v", without)
	}
}

// TestConsoleRequestsAsCode checks that the copied code runs unchanged and sends the values of the form, including
// quotes, dollar signs and line breaks.
func TestConsoleRequestsAsCode(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	text := "it's \"here\": $HOME, `tick`, \\n is no line, ünïcode 🪨"
	p.step("fill in", chromedp.Navigate(p.base+"/#requests/remember"), see(`#body-text`),
		chromedp.SetValue(`#body-text`, text, chromedp.ByQuery), chromedp.SetValue(`#body-importance`, "0.25", chromedp.ByQuery))
	for _, c := range []struct {
		language, file string
		run            []string
	}{{"curl", "a.sh", []string{"sh"}}, {"TypeScript", "a.mjs", []string{"node"}}, {"Python", "a.py", []string{"python3"}},
		{"Go", "a.go", []string{"go", "run"}}} {
		var code string
		p.step(c.language, chromedp.Click(fmt.Sprintf(`//button[text()=%q]`, c.language), chromedp.BySearch),
			chromedp.Evaluate(`document.querySelector("pre.code").textContent`, &code))
		if strings.Contains(code, p.token) {
			t.Errorf("%s holds the token", c.language)
		}
		if _, err := exec.LookPath(c.run[0]); err != nil {
			t.Logf("no %s on this machine: its code is not run", c.run[0])
			continue
		}
		file := filepath.Join(t.TempDir(), c.file)
		if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), c.run[0], append(c.run[1:], file)...)
		cmd.Env = append(os.Environ(), "CAIRN_TOKEN="+p.token)
		out, err := cmd.CombinedOutput()
		var stored struct {
			RID string `json:"rid"`
		}
		if err != nil || json.Unmarshal(out, &stored) != nil {
			t.Errorf("%s: %v: %s\n%s", c.language, err, out, code)
			continue
		}
		if m := p.ask("GET", "/v1/memory/"+stored.RID, nil); m["text"] != text || m["importance"] != 0.25 {
			t.Errorf("%s stored %q of importance %v", c.language, m["text"], m["importance"])
		}
	}
	p.step("picture", chromedp.ScrollIntoView(`pre.code`, chromedp.ByQuery), screenshots(p.dir, "requests-code"))
}
