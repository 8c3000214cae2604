package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/client"
)

// errCondition is returned if the key is not as the write expects.
var errCondition = errors.New("the key is not as the request expects")

// A keyedClient reads and writes one key through one surface.
type keyedClient interface {
	read(ctx context.Context, key string) (text string, revision int, err error)
	put(ctx context.Context, key, text string, revision int, once string) error
}

// overHTTP sends requests to the gateway of one node.
type overHTTP struct{ base, token string }

func (h overHTTP) ask(ctx context.Context, method, path string, body, answer any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, h.base+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		return json.NewDecoder(resp.Body).Decode(answer)
	}
	var said struct{ Code, Error string }
	if err := json.NewDecoder(resp.Body).Decode(&said); err != nil {
		return err
	}
	if said.Code == "precondition_failed" {
		return errCondition
	}
	return errors.New(said.Error)
}

// A keyedText contains the fields of an answer that clients need.
type keyedText struct {
	Text     string `json:"text"`
	Revision int    `json:"revision"`
}

func (h overHTTP) read(ctx context.Context, key string) (string, int, error) {
	var m keyedText
	err := h.ask(ctx, "GET", "/v1/get?consistency=linearizable&key="+url.QueryEscape(key), nil, &m)
	return m.Text, m.Revision, err
}

func (h overHTTP) put(ctx context.Context, key, text string, revision int, once string) error {
	var m keyedText
	return h.ask(ctx, "POST", "/v1/put", map[string]any{"key": key, "text": text, "if_revision": revision, "idempotency_key": once}, &m)
}

// overWire sends OPERATION requests over the wire protocol.
type overWire struct{ *client.Client }

func (w overWire) read(ctx context.Context, key string) (string, int, error) {
	var m keyedText
	err := w.Query(ctx, "get", map[string]any{"key": key, "consistency": "linearizable"}, &m)
	return m.Text, m.Revision, err
}

func (w overWire) put(ctx context.Context, key, text string, revision int, once string) error {
	err := w.Change(ctx, "put", map[string]any{"key": key, "text": text, "if_revision": revision, "idempotency_key": once}, nil)
	var said *client.Error
	if errors.As(err, &said) && strings.Contains(string(said.Details), "precondition_failed") {
		return errCondition
	}
	return err
}

// byCommand runs commands against the gateway of one node.
type byCommand struct{ at []string }

func (b byCommand) run(ctx context.Context, args ...string) ([]byte, error) {
	c := cairntest.Command(ctx, append(args, b.at...)...)
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if strings.Contains(errs.String(), errCondition.Error()) {
		return nil, errCondition
	}
	return out, err
}

func (b byCommand) read(ctx context.Context, key string) (string, int, error) {
	out, err := b.run(ctx, "read", key, "--consistency", "linearizable", "--json")
	if err != nil {
		return "", 0, err
	}
	var m keyedText
	err = json.Unmarshal(out, &m)
	return m.Text, m.Revision, err
}

func (b byCommand) put(ctx context.Context, key, text string, revision int, once string) error {
	_, err := b.run(ctx, "put", key, text, "--if-revision", fmt.Sprint(revision), "--idempotency-key", once)
	return err
}

// TestKeysWhileALeaderDies has three clients increment one number by compare-and-set, over HTTP, the wire protocol
// and the command line; the first and the last use a follower. The leader is killed in between. Each client repeats a
// request under the same idempotency key until it knows the outcome. In the end the number must equal the number of
// increments.
func TestKeysWhileALeaderDies(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	nodes, token := startThree(t, 0, 1, 2)
	leads := leaderOf(t, nodes)
	follower := nodes[(leads+1)%3]
	h := overHTTP{follower.Line.HTTP, token}
	shell := byCommand{[]string{"--endpoints", follower.Line.HTTP, "--token-file", follower.TokenFile()}}
	const key, adds = "/counters/visits", 8
	ctx := suite.Context(t)
	if _, err := shell.run(ctx, "put", key, "0 visits", "--if-absent"); err != nil {
		t.Fatal(err)
	}
	clients := map[string]keyedClient{"http": h, "wire": overWire{connect(t, nodes, token)}, "shell": shell}
	added := make(chan string, len(clients)*adds)
	for name, c := range clients {
		go func() {
			for done := 0; done < adds && ctx.Err() == nil; {
				text, revision, err := c.read(ctx, key)
				if err != nil {
					continue // there is no leader at the moment
				}
				n := 0
				if _, err := fmt.Sscanf(text, "%d visits", &n); err != nil {
					t.Errorf("%s: %q: %v", name, text, err)
					return
				}
				once := fmt.Sprintf("%s-%d-%d", name, done, revision)
				for err = errors.ErrUnsupported; err != nil && !errors.Is(err, errCondition) && ctx.Err() == nil; {
					err = c.put(ctx, key, fmt.Sprintf("%d visits", n+1), revision, once)
				}
				if err == nil {
					done++
					added <- name
				}
			}
		}()
	}
	for i := range len(clients) * adds {
		if i == len(clients)*adds/3 {
			nodes[leads].Kill()
		}
		suite.Receive(t, "an addition", added)
	}
	nodes[leads].Launch()()
	sameState(t, nodes)
	for name, c := range clients {
		text, revision, err := c.read(ctx, key)
		if want := len(clients) * adds; err != nil || text != fmt.Sprintf("%d visits", want) || revision != want {
			t.Errorf("%s reads %q at revision %d, %v: want %d", name, text, revision, err, want)
		}
	}
	steps := `[{"op":"get","key":"/counters/visits"},{"op":"rename","key":"/counters/visits","to":"/counters/all"},{"op":"put","key":"/counters/new","memory":{"text":"0 visits"},"if_absent":true}]`
	if out, err := shell.run(ctx, "batch", steps); err != nil || !strings.Contains(string(out), "/counters/all") {
		t.Errorf("batch: %s, %v", out, err)
	}
	if out, err := shell.run(ctx, "keys", "/counters"); err != nil || !strings.Contains(string(out), "/counters/all") ||
		!strings.Contains(string(out), "/counters/new") {
		t.Errorf("keys: %s, %v", out, err)
	}
	if _, err := shell.run(ctx, "delete", "/counters/new"); err != nil {
		t.Error(err)
	}
	if _, _, err := h.read(ctx, "/counters/new"); err == nil {
		t.Error("a deleted key is read")
	}
}
