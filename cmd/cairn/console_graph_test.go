package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cairndb/cairn/oplog/suite"
)

// drag moves the object at a position of the canvas by an offset in pixels, with the mouse. place is an expression
// for [x, y].
func drag(place string, dx, dy float64) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var at []float64
		find := fmt.Sprintf(`(() => { const c = document.querySelector("canvas.graph"), r = c.getBoundingClientRect(), [x, y] = %s; return [r.x + x, r.y + y]; })()`, place)
		if err := chromedp.Evaluate(find, &at).Do(ctx); err != nil {
			return err
		}
		mouse := func(kind input.MouseType, x, y float64) error {
			return input.DispatchMouseEvent(kind, x, y).WithButton(input.Left).WithButtons(1).WithClickCount(1).Do(ctx)
		}
		if err := mouse(input.MousePressed, at[0], at[1]); err != nil {
			return err
		}
		for i := range 10 {
			if dx == 0 && dy == 0 {
				break
			}
			part := float64(i+1) / 10
			if err := mouse(input.MouseMoved, at[0]+dx*part, at[1]+dy*part); err != nil {
				return err
			}
		}
		return mouse(input.MouseReleased, at[0]+dx, at[1]+dy)
	})
}

// TestConsoleGraph navigates the graph with mouse and keyboard, filters it by relation and time, and checks that it
// fits a narrow screen. With 2,000 entities the work per frame must grow linearly with their number.
func TestConsoleGraph(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	for _, r := range [][3]string{{"Alice", "leads", "payments"}, {"Alice", "works on", "payments"},
		{"payments", "bills", "Alice"}, {"Bob", "works on", "payments"}, {"payments", "uses", "ledger"},
		{"heron", "hosts", "ledger"}, {"heron", "in", "Oslo"}} {
		p.ask("POST", "/v1/relate", map[string]any{"entity": r[0], "relationship": r[1], "target": r[2]})
	}
	const scene = `document.querySelector("canvas.graph").scene`
	data := func(name string, want any) chromedp.Action {
		return waitTrue(fmt.Sprintf(`document.querySelector("canvas.graph")?.dataset.%s === "%v"`, name, want))
	}
	p.step("open", emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.Navigate(p.base+"/#graph/Alice"), data("links", 5), data("nodes", 4), screenshots(p.dir, "graph"))

	var before, after []float64
	place := func(into *[]float64) chromedp.Action {
		return chromedp.Evaluate(scene+`.where("Alice")`, into)
	}
	p.step("drag", place(&before), drag(scene+`.where("Alice")`, 90, 40), place(&after))
	if dx, dy := after[0]-before[0], after[1]-before[1]; dx < 60 || dy < 20 {
		t.Errorf("dragged by 90 and 40, it moved by %.0f and %.0f", dx, dy)
	}
	p.step("pan", place(&before), drag(`[12, 400]`, 50, 30), place(&after))
	if dx, dy := after[0]-before[0], after[1]-before[1]; dx < 40 || dy < 20 {
		t.Errorf("the ground was dragged by 50 and 30, and the picture moved by %.0f and %.0f", dx, dy)
	}
	p.step("unfold by mouse", click(`[aria-label="Show all"]`), drag(scene+`.where("ledger")`, 0, 0),
		data("chosen", "ledger"), waitTrue(`document.querySelector(".side h2").textContent === "ledger"`), data("links", 6), data("nodes", 5))

	var at, again string
	p.step("by keyboard", chromedp.Evaluate(scene+`.select(null)`, nil), chromedp.Focus(`canvas.graph`, chromedp.ByQuery),
		chromedp.KeyEvent(kb.ArrowRight), waitTrue(`document.querySelector("canvas.graph").dataset.chosen !== ""`),
		chromedp.Evaluate(`document.querySelector("canvas.graph").dataset.chosen`, &at), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.KeyEvent(kb.ArrowLeft), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowDown),
		chromedp.Evaluate(`document.querySelector("canvas.graph").dataset.chosen`, &again),
		chromedp.KeyEvent("+"), chromedp.KeyEvent(kb.Enter),
		waitTrue(`document.querySelector(".side h2").textContent === document.querySelector("canvas.graph").dataset.chosen && document.querySelectorAll(".relations li").length > 0`))
	if at != "payments" || again == "" {
		t.Errorf("the first key chooses %q, the next ones %q", at, again)
	}

	// Filtered relations and times are not drawn.
	p.step("filter", click(`.chips [aria-pressed]`), waitTrue(`Number(document.querySelector("canvas.graph").dataset.links) < 6`),
		click(`.chips [aria-pressed=false]`), data("links", 6),
		chromedp.Evaluate(`{ const i = document.querySelector("input[name=time]"); i.value = 0; i.dispatchEvent(new Event("input")); }`,
			nil), data("links", 1),
		chromedp.Evaluate(`{ const i = document.querySelector("input[name=time]"); i.value = 1000; i.dispatchEvent(new Event("input")); }`,
			nil), data("links", 6))

	// All entities of a small memory are shown, and the search ignores case.
	p.step("all", chromedp.Navigate(p.base+"/#graph"), data("nodes", 6), data("links", 7),
		chromedp.SendKeys(`input[name=entity]`, "HER", chromedp.ByQuery),
		waitTrue(`document.querySelector(".choices li")?.textContent.startsWith("heron")`), screenshots(p.dir, "graph-find"),
		chromedp.SendKeys(`input[name=entity]`, "ON"+kb.Enter, chromedp.ByQuery), data("chosen", "heron"),
		waitTrue(`document.querySelectorAll(".relations li").length === 2 && document.querySelectorAll(".stage .legend span").length > 0`))

	var over int
	p.step("narrow", chromedp.EmulateViewport(360, 800), click(`[aria-label="Show all"]`),
		chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &over), shoot(p.dir, "graph-360"),
		chromedp.EmulateViewport(1280, 900))
	if over > 0 {
		t.Errorf("the page is %d pixels wider than a screen of 360", over)
	}

	// 2,000 entities in a star of stars.
	var work struct{ Nodes, Links, Labels, Pairs, Frames float64 }
	grow := `(() => { const s = ` + scene + `; s.nodes.clear(); s.links.clear(); s.select(null); const hub = s.node("hub");
		for (let i = 0; i < 40; i++) { const star = s.node("star " + i, hub); s.link("s" + i, hub, star, "has", null); for (let j = 0; j < 49; j++) s.link("l" + i + "-" + j, star, s.node("entity " + i + "." + j, star), "names", null); }
		s.all(); s.warm(); })()`
	p.step("2,000", chromedp.Evaluate(grow, nil), data("nodes", 2001), chromedp.Evaluate(scene+`.work`, &work), screenshots(p.dir, "graph-2000"))
	if work.Pairs == 0 || work.Pairs > 2001*50 || work.Links > 2000 || work.Nodes > 2001 || work.Labels > 90 {
		t.Errorf("a frame of 2,001 entities: %+v", work)
	}
}
