package node

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/large"
)

// TestLargeRequestsTakeTurns checks that a large request waits while all turns are taken, over the wire, over HTTP
// and from a model, and that small ones do not.
func TestLargeRequestsTakeTurns(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const token = "ydb_secret_for_turns_0123456789abcdef"
	n, err := Open(t.Context(),
		Config{Home: filepath.Join(t.TempDir(), "h"),
			Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: Seams{NoSync: true},
			Member: Member{Secret: token}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	dial := func() *client.Client {
		c, err := client.Dial(t.Context(), client.Config{Addrs: []string{n.Addrs().Wire}, Token: token})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	noise := make([]byte, 2*large.From) // which nothing compresses
	rand.Read(noise)
	large := base64.StdEncoding.EncodeToString(noise)
	for range cap(n.turns) {
		if _, err := n.turns.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 3)
	byWire := dial()
	go func() {
		_, err := byWire.Remember(t.Context(), wire.NewRemember(large))
		done <- err
	}()
	for path, body := range map[string]string{
		"/v1/remember": `{"text":"` + large + `"}`,
		"/mcp":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remember","arguments":{"text":"` + large + `"}}}`,
	} {
		go func() { done <- posted(t, "http://"+n.Addrs().HTTP+path, token, body) }()
	}
	small := dial()
	for range 20 {
		if _, err := small.Remember(t.Context(), wire.NewRemember("a small one")); err != nil {
			t.Fatal(err)
		}
		select {
		case err := <-done:
			t.Fatalf("a large request did not wait: %v", err)
		default:
		}
	}
	for range cap(n.turns) {
		<-n.turns
	}
	for range cap(done) {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func posted(t *testing.T, url, token, body string) error {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return err
	}
	for k, v := range map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream"} {
		r.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}
