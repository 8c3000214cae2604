package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAKilledNodeKnowsItsTokens checks that a restarted node, from its first answer on, either accepts a token that
// it created before it was killed, or reports that it is still starting.
func TestAKilledNodeKnowsItsTokens(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, home := cairntest.StartDev(t)
	out, code := cairntest.Run(t, "token", "create", "--home", home)
	token, _, _ := strings.Cut(out, "\n")
	if code != 0 || token == "" {
		t.Fatalf("no token: %s", out)
	}
	p.Kill()
	up := p.Launch()
	defer up()
	suite.Eventually(t, "an answer", func() bool {
		r, err := http.NewRequestWithContext(t.Context(), "POST", p.Line.HTTP+"/v1/recall", strings.NewReader(`{"query":"eagle"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil { // the node does not listen yet
			return false
		}
		a.Body.Close()
		if a.StatusCode != http.StatusOK && a.StatusCode != http.StatusServiceUnavailable {
			t.Fatalf("HTTP %d", a.StatusCode)
		}
		return a.StatusCode == http.StatusOK
	})
}
