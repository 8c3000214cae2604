package sift

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/reads"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/redact"
)

// store is a memory without a cluster: a real state and index, to which entries are applied one by one.
type store struct {
	dir   string
	state *state.State
	index *index.Index

	mu     sync.Mutex
	at     oplog.Index
	outage *outage // nil if there is a quorum
	place  api.PlaceAnswer
	slow   bool // the index is updated only when a request waits for it
	behind []oplog.Outcome
}

// An outage is a period without a quorum. A write waits for its end as long as its sender does, and is then rejected.
type outage struct {
	waits chan time.Duration // time until the deadline of the first write
	over  chan struct{}
}

func (s *store) cut() *outage {
	o := &outage{make(chan time.Duration, 1), make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outage = o
	return o
}

func (s *store) mend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.outage.over)
	s.outage = nil
}

func newStore(t testing.TB) *store {
	t.Helper()
	s := &store{dir: t.TempDir()}
	var err error
	if s.state, err = state.Open(filepath.Join(s.dir, "state"), state.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	if s.index, _, err = index.Open(t.Context(), index.Config{Dir: filepath.Join(s.dir, "index"), State: s.state}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.index.Close(); s.state.Close() })
	if _, _, err := s.apply(oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *store) apply(e oplog.Entry) ([]oplog.Result, oplog.Index, error) {
	body, err := e.Encode()
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at++
	out, err := s.state.Apply([]oplog.Record{{Index: s.at, Term: 1,
		Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(time.Now().UnixMilli()), 0, 1), body)}})
	if err != nil {
		return nil, 0, err
	}
	s.behind = append(s.behind, out...)
	if s.slow {
		return nil, 0, &oplog.Error{Kind: oplog.UnknownOutcome, Text: notReadable}
	}
	if err := s.followLocked(); err != nil {
		return nil, 0, err
	}
	if out[0].Err != nil {
		return nil, 0, out[0].Err
	}
	return out[0].Results, s.at, nil
}

// notReadable is the error of a write that is stored but cannot be found yet.
const notReadable = "the write is committed but not yet readable here"

func (s *store) followLocked() error {
	out := s.behind
	s.behind = nil
	return s.index.Follow(context.Background(), out)
}

// Local implements api.Host.
func (s *store) Local(database string) (api.Caller, error) {
	return api.Caller{DB: oplog.DefaultDB, Database: database, Scopes: []api.Scope{api.Read, api.Write}}, nil
}

// May implements api.Door.
func (s *store) May(c api.Caller, op *api.Op) error {
	if !c.May(op.Scope) {
		return oplog.Errorf(oplog.Denied, "token has no %s scope", op.Scope)
	}
	return nil
}

// Do implements api.Door.
func (s *store) Do(ctx context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	if err := s.May(c, op); err != nil {
		return nil, err
	}
	if read := reads.All[op]; read != nil {
		return read(ctx, s.state, c.DB, request)
	}
	switch q := request.(type) {
	case *api.AwaitRequest:
		s.mu.Lock()
		defer s.mu.Unlock()
		if oplog.Index(q.MinIndex) > s.at {
			return nil, oplog.Errorf(oplog.Unavailable, "this node is at log index %d and has not reached %d", s.at, q.MinIndex)
		}
		if q.Found {
			return &api.Nothing{}, s.followLocked()
		}
		return &api.Nothing{}, nil
	case *api.SearchRequest:
		hits, _, err := s.index.Search(ctx, c.DB,
			index.Query{Text: q.Text, K: q.K,
				Filter: index.Filter{Namespace: q.Namespace, Private: q.Private, Within: q.Within}, Quiet: q.Quiet, Now: time.Now()})
		found := &api.Found{}
		for _, h := range hits {
			found.Hits = append(found.Hits, api.Hit{Memory: h.Memory, Score: h.Score, Why: h.Why})
		}
		return found, err
	case *api.CaptureRequest:
		return s.capture(ctx, q)
	case *api.Nothing:
		return &s.place, nil
	case *api.HostRequest:
		return &api.Nothing{}, q.Run(ctx)
	}
	return nil, fmt.Errorf("this store has no %s", op.Name)
}

func (s *store) capture(ctx context.Context, q *api.CaptureRequest) (*api.Captured, error) {
	found := redact.Found{}
	clean := make([]api.Said, len(q.Said))
	for i, x := range q.Said { // as in the node
		payload, _ := found.JSON(x.Payload)
		clean[i] = api.Said{Session: found.Text(x.Session), Tool: found.Text(x.Tool), Source: found.Text(x.Source), Payload: payload}
	}
	events, err := q.Make(clean)
	if err != nil || len(events) == 0 {
		return &api.Captured{Redacted: found.Kinds()}, err
	}
	var ops []oplog.Op
	for _, e := range events {
		ops = append(ops, e.Event, e.Summary)
	}
	s.mu.Lock()
	out := s.outage
	s.mu.Unlock()
	if out != nil {
		left := time.Duration(math.MaxInt64)
		if by, ok := ctx.Deadline(); ok {
			left = time.Until(by)
		}
		select {
		case out.waits <- left:
		default:
		}
		select {
		case <-ctx.Done():
		case <-out.over:
		}
		return nil, &oplog.Error{Kind: oplog.Unavailable, Text: "no leader elected (cluster not ready)"}
	}
	results, _, err := s.apply(oplog.Entry{Node: 1, DB: oplog.DefaultDB, Ops: ops})
	made := &api.Captured{Redacted: found.Kinds()}
	for i := 0; i+1 < len(results); i += 2 {
		made.IDs = append(made.IDs, api.CapturedIDs{Event: oplog.EventID(results[i].Num), Summary: oplog.Seq(results[i+1].Num)})
	}
	return made, err
}

// remember stores a memory of another protocol.
func (s *store) remember(t testing.TB, namespace, text string) oplog.Seq {
	t.Helper()
	now := oplog.At(time.Now())
	r, _, err := s.apply(oplog.Entry{DB: oplog.DefaultDB,
		Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: text,
			Namespace: namespace, Importance: 0.5, Created: now, Updated: now}}}})
	if err != nil {
		t.Fatal(err)
	}
	return oplog.Seq(r[0].Num)
}

// daemon is a server and the socket of one workspace.
type daemon struct {
	*Server
	t      testing.TB
	store  *store
	socket string
	dir    string
	log    *guarded
}

// shortDir returns a directory in which the paths of sockets are short enough.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sift")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func start(t testing.TB, change func(*Config)) *daemon {
	t.Helper()
	d := &daemon{t: t, store: newStore(t), dir: shortDir(t), log: &guarded{}}
	cfg := Config{Home: filepath.Join(shortDir(t), "h"),
		Memory:      api.At{Host: d.store, Also: []api.Scope{api.Stop, api.Files, api.Git}},
		Transcripts: filepath.Join(d.dir, "projects"), Rollouts: filepath.Join(d.dir, "rollouts"),
		CaptureTimeout: suite.Patience, Logger: slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if change != nil {
		change(&cfg)
	}
	var err error
	if d.Server, err = Open(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	d.socket = d.serve(d.dir)
	return d
}

func (d *daemon) serve(dir string) string {
	d.t.Helper()
	w, err := FindWorkspace(context.Background(), dir, "")
	if err != nil {
		d.t.Fatal(err)
	}
	socket, err := d.Serve(w)
	if err != nil {
		d.t.Fatal(err)
	}
	return socket
}

// guarded is a writer that is safe for concurrent use.
type guarded struct {
	mu sync.Mutex
	w  bytes.Buffer
}

func (g *guarded) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.w.Write(b)
}

func (g *guarded) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.w.String()
}

// ask sends a request and decodes the data of its reply.
func (d *daemon) ask(request string) map[string]any {
	d.t.Helper()
	return d.askOn(d.socket, request)
}

func (d *daemon) askOn(socket, request string) map[string]any {
	d.t.Helper()
	data, err := Call(d.t.Context(), socket, json.RawMessage(request))
	if err != nil {
		d.t.Fatalf("%.200s: %v", request, err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		d.t.Fatal(err)
	}
	return m
}

// refused sends a request that must fail, and returns the error.
func (d *daemon) refused(request string) string {
	d.t.Helper()
	data, err := Call(d.t.Context(), d.socket, json.RawMessage(request))
	var no *Refusal
	if !errors.As(err, &no) {
		d.t.Fatalf("%.200s: %s, %v; want a refusal", request, data, err)
	}
	return no.Text
}

func (d *daemon) dial() *net.UnixConn {
	d.t.Helper()
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: d.socket, Net: "unix"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(suite.Patience))
	return c
}

func encodeFrame(t testing.TB, body string) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := format.Write(&b, []byte(body)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
