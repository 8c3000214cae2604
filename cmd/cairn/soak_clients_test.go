//go:build soak

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"syscall"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/lab/history"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// The kinds of keys. Each number of a set is a memory. A register is one memory, which is corrected. The name of a key
// is a word that no other memory has, so that a recall of it reads the whole set.
const (
	setKind      = "soakset"
	registerKind = "soakregister"
)

func keyName(kind string, n int) string { return fmt.Sprint(kind, n) }

func rowText(key string, value int) string { return fmt.Sprint(key, " holds number", value) }

func parseRow(text string) (key string, value int, ok bool) {
	n, err := fmt.Sscanf(text, "%s holds number%d", &key, &value)
	return key, value, n == 2 && err == nil
}

// Bounds of a key, which is closed after a number of writes or a time.
const (
	keyNumbers = 150
	keyAge     = 8 * time.Second
	openKeys   = 2 // open keys of each kind
)

// A soakKey is a key that several clients write and read for some time.
type soakKey struct {
	kind, name string
	rid        string // id of the memory, if the key is a register
	since      time.Time
	next       int // number
	users      int
	closed     bool
}

// acquire returns a key that stays open until it is released, and a number that no other write to it uses.
func (s *soak) acquire(kind string, slot int) (*soakKey, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.keys[kind]) < openKeys {
		s.keys[kind] = append(s.keys[kind], s.newKey(kind))
	}
	k := s.keys[kind][slot%openKeys]
	if k.next >= keyNumbers || time.Since(k.since) > keyAge {
		k.closed = true
		s.closeUnused(k)
		k = s.newKey(kind)
		s.keys[kind][slot%openKeys] = k
	}
	k.users++
	k.next++
	return k, k.next
}

func (s *soak) newKey(kind string) *soakKey {
	s.made++
	return &soakKey{kind: kind, name: keyName(kind, s.made), since: time.Now()}
}

func (s *soak) release(k *soakKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.users--
	s.closeUnused(k)
}

func (s *soak) closeUnused(k *soakKey) {
	if k.closed && k.users == 0 {
		s.note(history.Record{Op: history.Close, Key: k.name})
	}
}

// closeAll closes all open keys after the clients have ended.
func (s *soak) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, keys := range s.keys {
		for _, k := range keys {
			k.closed = true
			s.closeUnused(k)
		}
	}
}

// A soakClient sends one request at a time. Half of the clients use the wire protocol, whose client library finds the
// leader.
type soakClient struct {
	s    *soak
	id   int
	rng  *rand.Rand
	wire *client.Client
}

func (s *soak) newClient(id int) *soakClient {
	c := &soakClient{s: s, id: id + 1, rng: rand.New(rand.NewPCG(*soakSeed, uint64(id)+2))}
	if id%2 == 0 {
		w, err := client.Dial(s.t.Context(), client.Config{Addrs: s.wires[:s.voters], Token: s.token})
		if err != nil {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() { w.Close() })
		c.wire = w
	}
	return c
}

func (c *soakClient) run(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := c.rng.IntN(100); {
		case n < 40:
			c.add()
		case n < 60:
			c.read()
		case n < 75:
			c.write()
		default:
			c.get()
		}
		sleep(ctx, time.Duration(2+c.rng.IntN(15))*time.Millisecond)
	}
}

// askTimeout bounds the time that a client waits for an answer.
const askTimeout = 4 * time.Second

// ask sends a request to a node's gateway. Requests that are pending when a run ends are completed.
func (c *soakClient) ask(node int, method, path string, body, out any) error {
	t := cli.Target{Endpoints: []string{c.s.urls[node]}, TokenText: c.s.token, Timeout: askTimeout}
	return t.Get(context.Background(), method, path, body, out)
}

// outcome returns the outcome of a write, as far as its error tells.
func outcome(err error) string {
	var refusal *cli.HTTPError
	switch {
	case err == nil:
		return history.Done
	case errors.As(err, &refusal) && refusal.Status != http.StatusInternalServerError && refusal.Status != http.StatusBadGateway &&
		refusal.Status != http.StatusGatewayTimeout,
		errors.Is(err, syscall.ECONNREFUSED):
		return history.Refused
	}
	return history.Unknown
}

// recordAck records the index of an acknowledged write.
func (c *soakClient) recordAck(index uint64) {
	c.s.acks.Add(1)
	for {
		old := c.s.index.Load()
		if index <= old || c.s.index.CompareAndSwap(old, index) {
			return
		}
	}
}

func (c *soakClient) voter() int { return c.rng.IntN(c.s.voters) }

// add adds a number to a set. Without an acknowledgement it repeats the request at other nodes with the same key. It
// sometimes repeats acknowledged requests as well.
func (c *soakClient) add() {
	k, value := c.s.acquire(setKind, c.rng.Int())
	defer c.s.release(k)
	again := c.rng.IntN(10) == 0
	for try := range 4 {
		r := history.Record{Op: history.Add, Key: k.name, Client: c.id, Value: value, From: c.s.now()}
		err := c.put(&r, k.name, fmt.Sprint(k.name, "-", value))
		r.Outcome, r.To = outcome(err), c.s.now()
		c.s.note(r)
		if err == nil {
			c.recordAck(r.Index)
			if !again {
				return
			}
			again = false
		} else if c.s.ctx.Err() != nil || try == 2 && c.rng.IntN(2) == 0 {
			return
		}
	}
}

// put stores a number as a memory.
func (c *soakClient) put(r *history.Record, namespace, key string) error {
	text := rowText(r.Key, r.Value)
	if c.wire != nil {
		ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
		defer cancel()
		m := wire.NewRemember(text)
		m.Namespace, m.IdempotencyKey = namespace, key
		var err error
		r.ID, err = c.wire.Remember(ctx, m)
		if err == nil {
			r.Index = uint64(c.wire.Index()) // the index of this write or an earlier one of this client
		}
		return err
	}
	var out struct {
		RID   string
		Index field.Token `json:"log_index"`
	}
	err := c.ask(c.voter(), "POST", "/v1/remember", map[string]any{"text": text, "namespace": namespace, "idempotency_key": key}, &out)
	if err == nil {
		r.ID, r.Index = out.RID, uint64(out.Index)
	}
	return err
}

// pickTarget picks the node and the consistency of a read. The replica serves stale reads and reads at an index.
func (c *soakClient) pickTarget(r *history.Record) (life int64) {
	r.Client, r.From = c.id, c.s.now()
	r.Mode = []string{history.Linearizable, history.AtIndex, history.Stale}[c.rng.IntN(3)]
	r.Node = c.voter() + 1
	if r.Mode != history.Linearizable && c.s.lives[c.s.voters].Load() > 0 && c.rng.IntN(3) == 0 {
		r.Node = c.s.voters + 1
	}
	if r.Mode == history.AtIndex {
		r.Index = c.s.index.Load()
	}
	return c.s.lives[r.Node-1].Load()
}

// recordRead records an answered read, with the node's process if it did not restart in between.
func (c *soakClient) recordRead(r history.Record, life int64) {
	if r.To = c.s.now(); c.s.lives[r.Node-1].Load() == life {
		r.Life = int(life)
	}
	c.s.note(r)
}

// read recalls a whole set.
func (c *soakClient) read() {
	k, _ := c.s.acquire(setKind, c.rng.Int())
	defer c.s.release(k)
	r := history.Record{Op: history.Read, Key: k.name}
	life := c.pickTarget(&r)
	body := map[string]any{"query": k.name, "namespace": k.name, "top_k": 2 * keyNumbers, "skip_reinforce": true}
	switch r.Mode {
	case history.Linearizable:
		body["consistency"] = "linearizable"
	case history.AtIndex:
		body["min_index"] = r.Index
	}
	var out struct{ Results []struct{ Text string } }
	if err := c.ask(r.Node-1, "POST", "/v1/recall", body, &out); err != nil {
		return
	}
	for _, row := range out.Results {
		_, value, _ := parseRow(row.Text)
		if r.Have.Has(value) {
			r.Twice.Add(value)
		}
		r.Have.Add(value)
	}
	c.recordRead(r, life)
}

// register returns an open register. The first client that needs it creates it; it is unknown until this is
// acknowledged.
func (c *soakClient) register() (k *soakKey, value int, rid string) {
	k, value = c.s.acquire(registerKind, c.rng.Int())
	c.s.mu.Lock()
	rid = k.rid
	c.s.mu.Unlock()
	if rid != "" {
		return k, value, rid
	}
	r := history.Record{Key: k.name}
	if c.put(&r, registerKind, k.name) != nil {
		return k, value, ""
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	k.rid = r.ID
	return k, value, r.ID
}

func (c *soakClient) write() {
	k, value, rid := c.register()
	defer c.s.release(k)
	if rid == "" {
		return
	}
	r := history.Record{Op: history.Write, Key: k.name, Client: c.id, Value: value, From: c.s.now()}
	var out struct {
		Index field.Token `json:"log_index"`
	}
	err := c.ask(c.voter(), "POST", "/v1/correct",
		map[string]any{"rid": rid, "new_text": rowText(k.name, value), "reason": "overwritten"}, &out)
	r.Outcome, r.Index, r.To = outcome(err), uint64(out.Index), c.s.now()
	if err == nil {
		c.recordAck(r.Index)
	}
	c.s.note(r)
}

// missingValue is the value that a linearizable read records if the register does not exist.
const missingValue = 1 << 19

func (c *soakClient) get() {
	k, _, rid := c.register()
	defer c.s.release(k)
	if rid == "" {
		return
	}
	r := history.Record{Op: history.Get, Key: k.name}
	life := c.pickTarget(&r)
	path := "/v1/memory/" + rid
	switch r.Mode {
	case history.Linearizable:
		path += "?consistency=linearizable"
	case history.AtIndex:
		path += fmt.Sprint("?min_index=", r.Index)
	}
	var row struct{ Text string }
	err := c.ask(r.Node-1, "GET", path, nil, &row)
	var refusal *cli.HTTPError
	switch {
	case err == nil:
		_, r.Value, _ = parseRow(row.Text)
	case errors.As(err, &refusal) && refusal.Status == http.StatusNotFound && r.Mode == history.Linearizable:
		r.Value = missingValue
	default:
		return
	}
	c.recordRead(r, life)
}
