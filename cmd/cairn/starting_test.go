package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAKilledNodeKnowsItsTokens: from its first answer after it was killed a node takes a token that it made, or says that it has only started.
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
	for end := time.Now().Add(cairntest.Hung); time.Now().Before(end); {
		r, err := http.NewRequestWithContext(t.Context(), "POST", p.Line.HTTP+"/v1/recall", strings.NewReader(`{"query":"eagle"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
		r.Header.Set("Content-Type", "application/json")
		a, err := http.DefaultClient.Do(r)
		if err != nil { // it does not listen yet
			continue
		}
		a.Body.Close()
		switch a.StatusCode {
		case http.StatusOK:
			return
		case http.StatusServiceUnavailable:
		default:
			t.Fatalf("HTTP %d", a.StatusCode)
		}
	}
	t.Fatal("no answer")
}
