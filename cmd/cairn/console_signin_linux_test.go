package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestSignInLinkOfDev checks that the link that `cairn dev` prints on a terminal signs a browser in with one click.
// Neither the address nor the history may keep its code, and a second use must say what to do instead.
func TestSignInLinkOfDev(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "a browser and a node are not started")
	ctx := browser(t)
	x := onTerminal(t, nil, "dev", "--home", filepath.Join(t.TempDir(), "home"), "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6)))
	t.Cleanup(func() {
		_ = x.cmd.Process.Signal(syscall.SIGTERM)
		_ = x.cmd.Wait()
	})
	link := regexp.MustCompile(`http://\S+/#sign-in=\w+`).FindString(x.Shows("works once"))
	if link == "" {
		t.Fatal("no link")
	}
	var at string
	watch(t, ctx, func(s string) bool { return strings.HasPrefix(s, "status 401") || strings.Contains(s, "401") })
	if err := chromedp.Run(ctx, chromedp.Navigate(link), see(`input[name=q]`), chromedp.Evaluate(`location.hash`, &at)); err != nil {
		t.Fatal(err)
	}
	if at != "#recall" {
		t.Errorf("the address is %q", at)
	}
	var text string
	if err := chromedp.Run(ctx, chromedp.Evaluate(`sessionStorage.clear()`, nil), chromedp.Navigate("about:blank"),
		chromedp.Navigate(link), see(`.signin .wrong`), waitTrue(`document.querySelector(".signin .wrong").textContent !== ""`),
		chromedp.Text(`.signin .wrong`, &text, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text, "has been used") {
		t.Errorf("the second time it says %q", text)
	}
}
