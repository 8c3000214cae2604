package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// canary is a text of a memory in database "default". No answer to an attacker may contain it.
const canary = "the canary sings at the seventh gate"

// A listener is a port that other machines can reach. try sends the requests of an attacker with a token, or none,
// and returns the answers.
type listener struct {
	name string
	addr string
	try  func(t *testing.T, token *string, write bool) (answer string)
	knew string // the answer to a valid token of another database

	unfinished []byte // a large request without its end
}

// TestHostileNeighboursOfTheNetwork checks that a client without the right token is rejected at every port of a node,
// reads nothing, leaves no trace in the log and the audit, and costs a bounded amount of memory.
func TestHostileNeighboursOfTheNetwork(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := singleMember(t)
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: p.TokenFile(), Timeout: suite.Patience}
	post := func(path string, body any) (out map[string]any) {
		t.Helper()
		if err := tg.Get(t.Context(), "POST", path, body, &out); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return out
	}
	mint := func(body map[string]any) string { return post("/v1/admin/tokens", body)["token"].(string) }
	post("/v1/remember", map[string]any{"text": canary})
	post("/v1/databases", map[string]any{"name": "theirs"})
	reader, revoked := mint(map[string]any{"scopes": []string{"read"}}), mint(map[string]any{})
	theirs := mint(map[string]any{"database": "theirs", "scopes": []string{"read", "write", "owner"}})
	post("/v1/admin/tokens/revoke", map[string]any{"token": revoked})
	empty, blank, weak, guessed := "", " ", "secret", "ydb_"+strings.Repeat("0", 64)
	before := writeTraces(t, waitSettled(t, p))
	neighbours := []struct {
		name  string
		token *string
		write bool // a holder of the token may read its own database
		known bool
	}{
		{"no token", nil, false, false}, {"no token, writing", nil, true, false},
		{"an empty secret", &empty, false, false}, {"an empty secret, writing", &empty, true, false},
		{"a blank secret", &blank, true, false}, {"a weak secret", &weak, false, false}, {"a weak secret, writing", &weak, true, false},
		{"a guessed token", &guessed, false, false}, {"a revoked token", &revoked, false, false},
		{"a revoked token, writing", &revoked, true, false},
		{"the wrong scope", &reader, true, true},
		{"another database's token", &theirs, false, true}, {"another database's token, writing", &theirs, true, true},
	}
	for _, l := range networkListeners(t, p) {
		t.Run(l.name, func(t *testing.T) {
			for _, n := range neighbours {
				answer := l.try(t, n.token, n.write)
				if strings.Contains(answer, canary) {
					t.Errorf("%s reads a memory: %.300s", n.name, answer)
				}
				if n.known && l.knew != "" {
					if !strings.Contains(answer, l.knew) && !strings.Contains(answer, "token has no write scope") {
						t.Errorf("%s: %.300s", n.name, answer)
					}
				} else if !isRefused(answer) {
					t.Errorf("%s: %.300s", n.name, answer)
				}
			}
			if after := writeTraces(t, p); after != before {
				t.Errorf("log and audit were %s, and are %s", before, after)
			}
		})
		t.Run(l.name+", anonymous flood", func(t *testing.T) {
			if runtime.GOOS != "linux" {
				t.Skip("the memory of another process is read in /proc, which this system has not")
			}
			var wg sync.WaitGroup
			pid := p.Cmd.Process.Pid
			start, _ := procStat(t, pid)
			var held []net.Conn
			var mu sync.Mutex
			for range 300 {
				wg.Go(func() {
					nc, err := net.Dial("tcp", l.addr)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					held = append(held, nc)
					mu.Unlock()
					_ = nc.SetDeadline(time.Now().Add(suite.Patience))
					_, _ = nc.Write(l.unfinished) // the node may have answered already
				})
			}
			wg.Wait()
			peak := start
			for range 50 { // until the node has read and answered the request
				now, _ := procStat(t, pid)
				peak = max(peak, now)
				time.Sleep(10 * time.Millisecond)
			}
			// -short is for the race detector, under which a process holds several times as much
			if grew := peak - start; grew > floodMemory && !testing.Short() {
				t.Errorf("300 connections hold %d MiB", grew>>20)
			}
			tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: p.TokenFile(), Timeout: suite.Patience}
			var out map[string]any
			if err := tg.Get(t.Context(), "GET", "/v1/stats", nil, &out); err != nil {
				t.Errorf("beside them a right token is told: %v", err)
			}
			for _, nc := range held {
				nc.Close()
			}
			if after := writeTraces(t, p); after != before {
				t.Errorf("log and audit were %s, and are %s", before, after)
			}
		})
	}
}

func isRefused(answer string) bool {
	for _, no := range []string{"missing Bearer token", "invalid or revoked token", "too many failed logins",
		"expected AUTH frame", "expected ClusterHello", "cluster secret mismatch"} {
		if strings.Contains(answer, no) {
			return true
		}
	}
	return false
}

// networkListeners returns the ports of a member that other machines can reach.
func networkListeners(t *testing.T, p *cairntest.Node) []listener {
	body := strings.Repeat("x", 1<<20)
	posted := func(path string) []byte {
		return []byte("POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 4194304\r\n\r\n" + body)
	}
	frame := []byte("\x00\x00\x1f\xff\x01\x01\x00\x00\x00\x00" + body[:8<<10-16]) // the length announces more bytes
	http := strings.TrimPrefix(p.Line.HTTP, "http://")
	return []listener{
		{"wire", p.Line.Wire, func(t *testing.T, token *string, write bool) string {
			return neighbourOnWire(t, p.Line.Wire, token, write)
		}, "database 'default' not found", frame},
		{"gateway", http, func(t *testing.T, token *string, write bool) string {
			if write {
				return neighbourOverHTTP(t, p.Line.HTTP+"/v1/remember?database=default", token, `{"text":"a mark"}`)
			}
			return neighbourOverHTTP(t, p.Line.HTTP+"/v1/recall?database=default", token, `{"query":"canary gate"}`)
		}, "database 'default' not found", posted("/v1/remember")},
		{"mcp", http, func(t *testing.T, token *string, write bool) string {
			call := `"recall","arguments":{"query":"canary gate"}`
			if write {
				call = `"remember","arguments":{"text":"a mark"}`
			}
			return neighbourOverHTTP(t, p.Line.HTTP+"/mcp?database=default", token,
				`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":`+call+`}}`)
		}, "database 'default' not found", posted("/mcp")},
		{"peer port", p.Line.Cluster, func(t *testing.T, token *string, write bool) string {
			return neighbourAsPeer(t, p.Line.Cluster, token, write)
		}, "", frame},
	}
}

func neighbourOverHTTP(t *testing.T, url string, token *string, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != nil {
		req.Header.Set("Authorization", "Bearer "+*token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.Status + " " + string(b)
}

// neighbourOnWire sends a token, or none, selects database "default" and sends requests. It returns the answers to
// all frames.
func neighbourOnWire(t *testing.T, addr string, token *string, write bool) string {
	t.Helper()
	s := meet(t, addr)
	var answers strings.Builder
	exchange := func(op wire.Op, m wire.Message) {
		b, err := wire.AppendPack(nil, op, 1, m, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.nc.Write(b); err != nil {
			return // the node has ended the connection
		}
		if f, err := s.r.Next(); err == nil {
			fmt.Fprintf(&answers, "%s %s\n", f.Op, f.Payload)
		}
	}
	if token != nil {
		exchange(wire.OpAuth, &wire.Auth{Token: *token})
	}
	if write {
		m := wire.NewRemember("a mark")
		if token != nil && strings.Contains(answers.String(), "theirs") { // allowed in its own database
			exchange(wire.OpSelectDB, &wire.Name{Name: "default"})
			return answers.String()
		}
		exchange(wire.OpRemember, &m)
		return answers.String()
	}
	exchange(wire.OpSelectDB, &wire.Name{Name: "default"})
	exchange(wire.OpRecall, &wire.Recall{Query: "canary gate", TopK: 10})
	return answers.String()
}

func neighbourAsPeer(t *testing.T, addr string, token *string, write bool) string {
	t.Helper()
	s := meet(t, addr)
	answer := ""
	if token != nil {
		answer = s.ask(wire.OpClusterHello,
			&wire.ClusterHello{NodeID: 9, Role: raft.RoleVoter, ClusterSecret: *token, AdvertiseAddr: "127.0.0.1:1",
				ProtocolVersion: wire.Version})
	}
	var m wire.Message = &wire.OplogPull{Database: "default", Limit: 10}
	op := wire.OpOplogPull
	if write {
		op, m = wire.OpOplogPush, &wire.OplogPush{Database: "default",
			Ops: []wire.OplogEntry{{OpID: "a mark", OpType: "record", Payload: []byte(`{}`), HLC: make([]byte, 16)}}}
	}
	return answer + "\n" + s.ask(op, m)
}

// writeTraces returns everything that a write would alter in a single node: the end of the log, the memories and the
// audit.
func writeTraces(t *testing.T, p *cairntest.Node) string {
	t.Helper()
	tg := cli.Target{Endpoints: []string{p.Line.HTTP}, TokenFile: p.TokenFile(), Timeout: suite.Patience}
	var log struct {
		Last uint64 `json:"last_log_index"`
	}
	var stats, audit json.RawMessage
	for path, to := range map[string]any{"/v1/cluster/raft": &log, "/v1/stats": &stats, "/v1/admin/audit": &audit} {
		if err := tg.Get(t.Context(), "GET", path, nil, to); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("%d %s %s", log.Last, stats, audit)
}
