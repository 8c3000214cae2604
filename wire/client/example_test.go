package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

var (
	ctx = context.Background()
	c   *client.Client // connected to the node of TestMain
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "examples")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		n, err := node.Open(ctx,
			node.Config{Home: dir, Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0"},
				Tokens: node.Tokens{EnsureHome: true},
				Raft:   node.Raft{Heartbeat: 100 * time.Millisecond, Election: rafttest.Election(500 * time.Millisecond)},
				Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			log.Fatal(err)
		}
		defer n.Close()
		if err := n.Ready(ctx); err != nil {
			log.Fatal(err)
		}
		token, err := os.ReadFile(filepath.Join(dir, "token"))
		if err != nil {
			log.Fatal(err)
		}
		if c, err = client.Dial(ctx,
			client.Config{Addrs: []string{n.Addrs().Wire}, Token: strings.TrimSpace(string(token)), OwnWrites: true}); err != nil {
			log.Fatal(err)
		}
		defer c.Close()
		return m.Run()
	}())
}

// A client needs the addresses of some nodes. It finds the leader, and another node when one dies.
func ExampleDial() {
	c, err := client.Dial(ctx,
		client.Config{Addrs: []string{"10.0.0.1:7437", "10.0.0.2:7437"}, Token: os.Getenv("CAIRN_TOKEN"), DialTimeout: time.Millisecond})
	if err != nil {
		fmt.Println("no node answers")
		return
	}
	defer c.Close()
	// Output: no node answers
}

// A write is acknowledged once a majority has it. The client repeats it under one key until the outcome is known.
func ExampleClient_Remember() {
	m := wire.NewRemember("Alice leads the payments team")
	m.Importance = 0.8
	rid, err := c.Remember(ctx, m)
	switch {
	case errors.Is(err, client.ErrUnknownOutcome): // it may have happened: the same m.IdempotencyKey asks again
	case err != nil:
		log.Fatal(err)
	}
	fmt.Println(len(rid) > 0)
	// Output: true
}

func ExampleClient_RememberBatch() {
	rids, err := c.RememberBatch(ctx,
		wire.RememberBatch{Memories: []wire.Remember{wire.NewRemember("Bob is on call"), wire.NewRemember("Carol owns search")}})
	fmt.Println(len(rids), err)
	// Output: 2 <nil>
}

func ExampleClient_Recall() {
	if _, err := c.Remember(ctx, wire.NewRemember("The harbour master is called Dora")); err != nil {
		log.Fatal(err)
	}
	results, end, err := c.Recall(ctx, wire.NewRecall("who is the harbour master?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(results[0].Text, end.Total > 0)
	// Output: The harbour master is called Dora true
}

// RecallEach calls the function for each result as it arrives.
func ExampleClient_RecallEach() {
	if _, err := c.Remember(ctx, wire.NewRemember("The lighthouse was painted in May")); err != nil {
		log.Fatal(err)
	}
	q := wire.NewRecall("when was the lighthouse painted?")
	q.TopK = 1
	_, err := c.RecallEach(ctx, q, func(r wire.RecallResult) error {
		fmt.Println(r.Text)
		return nil
	})
	fmt.Println(err)
	// Output:
	// The lighthouse was painted in May
	// <nil>
}

// MinIndex lets a client read a write of another client: each node waits until it has that index, or returns an
// error.
func ExampleClient_Index() {
	if _, err := c.Remember(ctx, wire.NewRemember("The ferry leaves at nine")); err != nil {
		log.Fatal(err)
	}
	q := wire.NewRecall("when does the ferry leave?")
	q.MinIndex = c.Index()
	results, _, err := c.Recall(ctx, q)
	fmt.Println(results[0].Text, err)
	// Output: The ferry leaves at nine <nil>
}

func ExampleClient_Get() {
	rid, err := c.Remember(ctx, wire.NewRemember("The tide table hangs by the door"))
	if err != nil {
		log.Fatal(err)
	}
	m, err := c.Get(ctx, rid)
	fmt.Println(m.Text, m.Type, m.Revision, err)
	// Output: The tide table hangs by the door semantic 0 <nil>
}

func ExampleClient_List() {
	m := wire.NewRemember("The crane is serviced in March")
	m.Namespace = "dock"
	if _, err := c.Remember(ctx, m); err != nil {
		log.Fatal(err)
	}
	page, total, err := c.List(ctx, client.Listing{Namespace: "dock", Limit: 10})
	fmt.Println(page[0].Text, total, err)
	// Output: The crane is serviced in March 1 <nil>
}

// Correct keeps the previous text as a revision.
func ExampleClient_Correct() {
	rid, err := c.Remember(ctx, wire.NewRemember("The pilot boat is red"))
	if err != nil {
		log.Fatal(err)
	}
	text := "The pilot boat is green"
	revision, err := c.Correct(ctx, client.Correction{RID: rid, Reason: "repainted", Text: &text})
	if err != nil {
		log.Fatal(err)
	}
	m, err := c.Get(ctx, rid)
	fmt.Println(revision, m.Text, err)
	// Output: 1 The pilot boat is green <nil>
}

// An agent reads the context of its namespace when it starts.
func ExampleClient_Context() {
	m := wire.NewRemember("Deploys wait for the tide")
	m.Namespace, m.Importance = "rules", 0.9
	if _, err := c.Remember(ctx, m); err != nil {
		log.Fatal(err)
	}
	about, err := c.Context(ctx, "rules")
	fmt.Println(about.Memories[0].Text, about.Conflicts, err)
	// Output: Deploys wait for the tide 0 <nil>
}

// Query calls any operation of the reference by its name.
func ExampleClient_Query() {
	m := wire.NewRemember("Grace repairs the winch")
	m.Namespace = "winch"
	if _, err := c.Remember(ctx, m); err != nil {
		log.Fatal(err)
	}
	var a struct {
		Record client.Memory `json:"record"`
	}
	err := c.Query(ctx, "current", map[string]any{"namespace": "winch"}, &a)
	fmt.Println(a.Record.Text, err)
	// Output: Grace repairs the winch <nil>
}

func ExampleClient_Change() {
	rid, err := c.Remember(ctx, wire.NewRemember("The bell rings at six"))
	if err != nil {
		log.Fatal(err)
	}
	var a struct{ Found bool }
	err = c.Change(ctx, "forget", map[string]any{"rid": rid, "reason": "the bell is gone"}, &a)
	fmt.Println(a.Found, err)
	// Output: true <nil>
}

// Watch continues after the last event when a node dies.
func ExampleClient_Watch() {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	from := c.Index()
	if _, err := c.Remember(ctx, wire.NewRemember("The fog lifts")); err != nil {
		log.Fatal(err)
	}
	enough := errors.New("enough")
	err := c.Watch(ctx, wire.Subscribe{Events: []string{"stored"}, Cursor: from}, func(e wire.Event) error {
		if e.EventType == "stored" {
			return enough
		}
		return nil
	})
	fmt.Println(err)
	// Output: enough
}

// Changes returns the changes below a key for a range loop.
func ExampleClient_Changes() {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	from := c.Index()
	for _, key := range []string{"/tides/harbour", "/fog/horn"} {
		if err := c.Change(ctx, "put", map[string]any{"key": key, "text": "twice a day"}, nil); err != nil {
			log.Fatal(err)
		}
	}
	if err := c.Change(ctx, "delete", map[string]any{"key": "/tides/harbour"}, nil); err != nil {
		log.Fatal(err)
	}
	for e, err := range c.Changes(ctx, wire.Subscribe{Prefix: "/tides", Cursor: from}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(e.EventType)
		if e.EventType == "forgotten" {
			break
		}
	}
	// Output:
	// stored
	// forgotten
}

func ExampleClient_Forget() {
	rid, err := c.Remember(ctx, wire.NewRemember("The password of the week is swordfish"))
	if err != nil {
		log.Fatal(err)
	}
	found, err := c.Forget(ctx, rid)
	fmt.Println(found, err)
	// Output: true <nil>
}

func ExampleClient_Relate() {
	if _, err := c.Relate(ctx, wire.Relate{Entity: "Erin", Relationship: "maintains", Target: "parser", Weight: 1}); err != nil {
		log.Fatal(err)
	}
	edges, err := c.Edges(ctx, "Erin")
	fmt.Println(edges[0].Src, edges[0].RelType, edges[0].Dst, err)
	// Output: Erin maintains parser <nil>
}

func ExampleClient_StartSession() {
	id, err := c.StartSession(ctx, wire.SessionStart{Namespace: "work", ClientID: "editor"})
	if err != nil {
		log.Fatal(err)
	}
	m := wire.NewRemember("Renamed the package")
	m.Namespace, m.SessionID = "work", id
	if _, err := c.Remember(ctx, m); err != nil {
		log.Fatal(err)
	}
	summary := "a rename"
	ended, err := c.EndSession(ctx, id, &summary)
	fmt.Println(ended.MemoryCount, err)
	// Output: 1 <nil>
}

// Think searches for contradictions, and Resolve settles one.
func ExampleClient_Resolve() {
	both := []wire.Remember{wire.NewRemember("Frank works at the Lisbon office"), wire.NewRemember("Frank works at the Oslo office")}
	if _, err := c.RememberBatch(ctx, wire.RememberBatch{Memories: both}); err != nil { // one by one, the second would supersede the first
		log.Fatal(err)
	}
	if _, err := c.Think(ctx, wire.Think{RunConflictScan: true}); err != nil {
		log.Fatal(err)
	}
	who := "Frank"
	list, err := c.Conflicts(ctx, wire.Conflicts{Entity: &who, Limit: 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(list), c.Resolve(ctx, wire.Resolve{ConflictID: list[0].ConflictID, Strategy: "keep_b"}))
	// Output: 1 <nil>
}

// Subscribe delivers events after an index of the log. When the connection breaks, subscribe again after the last
// event.
func ExampleClient_Subscribe() {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	from := c.Index()
	if _, err := c.Remember(ctx, wire.NewRemember("Somebody listens")); err != nil {
		log.Fatal(err)
	}
	enough := errors.New("enough")
	err := c.Subscribe(ctx, wire.Subscribe{Events: []string{"stored"}, Cursor: from}, func(e wire.Event) error {
		if e.EventType == "stored" {
			return enough
		}
		return nil
	})
	fmt.Println(errors.Is(err, enough))
	// Output: true
}

func ExampleClient_Databases() {
	if _, err := c.CreateDatabase(ctx, "notes"); err != nil {
		log.Fatal(err)
	}
	list, err := c.Databases(ctx)
	fmt.Println(list[len(list)-1].Name, err)
	// Output: notes <nil>
}

func ExampleClient_ClusterStatus() {
	s, err := c.ClusterStatus(ctx)
	fmt.Println(s.Healthy, s.QuorumSize, err)
	// Output: true 1 <nil>
}

func ExampleClient_Ping() {
	fmt.Println(c.Ping(ctx))
	// Output: <nil>
}

func ExampleClient_Edges() {
	if _, err := c.Relate(ctx, wire.Relate{Entity: "Heidi", Relationship: "reports_to", Target: "Ivan", Weight: 1}); err != nil {
		log.Fatal(err)
	}
	edges, err := c.Edges(ctx, "Ivan")
	fmt.Println(edges[0].Src, edges[0].RelType, err)
	// Output: Heidi reports_to <nil>
}

// A claim is a relation with its evidence: who said it, how sure it is, and whether it holds.
func ExampleClient_Claim() {
	if _, err := c.Claim(ctx, wire.NewClaim("Judy", "works_at", "Harbour Ltd")); err != nil {
		log.Fatal(err)
	}
	claims, err := c.Claims(ctx, "Judy", "default")
	fmt.Println(claims[0].RelType, claims[0].Dst, err)
	// Output: works_at Harbour Ltd <nil>
}

func ExampleClient_Claims() {
	claims, err := c.Claims(ctx, "a name that is not there", "work")
	fmt.Println(len(claims), err)
	// Output: 0 <nil>
}

// Questions about one name also find memories about the other.
func ExampleClient_Alias() {
	added, err := c.Alias(ctx, wire.Alias{Alias: "Jude", CanonicalName: "Judy"})
	fmt.Println(added, err)
	// Output: true <nil>
}

func ExampleClient_EndSession() {
	id, err := c.StartSession(ctx, wire.SessionStart{Namespace: "short", ClientID: "editor"})
	if err != nil {
		log.Fatal(err)
	}
	ended, err := c.EndSession(ctx, id, nil)
	fmt.Println(ended.MemoryCount, err)
	// Output: 0 <nil>
}

func ExampleClient_CreateDatabase() {
	id, err := c.CreateDatabase(ctx, "diary")
	fmt.Println(id > 1, err)
	// Output: true <nil>
}

func ExampleClient_Stats() {
	if _, err := c.Remember(ctx, wire.NewRemember("One is enough to be counted")); err != nil {
		log.Fatal(err)
	}
	s, err := c.Stats(ctx)
	fmt.Println(s.ActiveMemories > 0, err)
	// Output: true <nil>
}

// Think searches for contradictions and patterns, and merges duplicates on request.
func ExampleClient_Think() {
	result, err := c.Think(ctx, wire.Think{RunPatternMining: true})
	fmt.Println(result.ConsolidationCount, err)
	// Output: 0 <nil>
}

func ExampleClient_Conflicts() {
	entity := "a name that is not there"
	list, err := c.Conflicts(ctx, wire.Conflicts{Entity: &entity, Limit: 10})
	fmt.Println(len(list), err)
	// Output: 0 <nil>
}

// Personality derives traits from all memories of the database.
func ExampleClient_Personality() {
	traits, err := c.Personality(ctx)
	fmt.Println(len(traits) > 0, err)
	// Output: true <nil>
}
