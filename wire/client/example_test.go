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
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

var (
	ctx = context.Background()
	c   *client.Client // of a node that runs while the examples do
)

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "examples")
		if err != nil {
			log.Fatal(err)
		}
		defer os.RemoveAll(dir)
		n, err := node.Open(ctx, node.Config{Home: dir, Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0"}, Tokens: node.Tokens{Mint: true},
			Raft: node.Raft{Heartbeat: 100 * time.Millisecond, Election: 500 * time.Millisecond}, Logger: slog.New(slog.DiscardHandler)})
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
		if c, err = client.Dial(ctx, client.Config{Addrs: []string{n.Addrs().Wire}, Token: strings.TrimSpace(string(token)), OwnWrites: true}); err != nil {
			log.Fatal(err)
		}
		defer c.Close()
		return m.Run()
	}())
}

// A client is given some of a cluster's nodes; it finds the leader, and another node when one dies.
func ExampleDial() {
	c, err := client.Dial(ctx, client.Config{Addrs: []string{"10.0.0.1:7437", "10.0.0.2:7437"}, Token: os.Getenv("CAIRN_TOKEN"), DialTimeout: time.Millisecond})
	if err != nil {
		fmt.Println("no node answers")
		return
	}
	defer c.Close()
	// Output: no node answers
}

// A write is acknowledged when a majority has it; the client repeats it under one key until it knows.
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
	rids, err := c.RememberBatch(ctx, wire.RememberBatch{Memories: []wire.Remember{wire.NewRemember("Bob is on call"), wire.NewRemember("Carol owns search")}})
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

// Results are used as they arrive.
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

// Index carries a write to a client of another node, which answers with it or not at all.
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

// Think looks for contradictions, among others, and Resolve settles one.
func ExampleClient_Resolve() {
	for _, text := range []string{"Frank works at the Lisbon office", "Frank works at the Oslo office"} {
		if _, err := c.Remember(ctx, wire.NewRemember(text)); err != nil {
			log.Fatal(err)
		}
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

// Events are taken from a place in the log on: when the connection breaks, subscribe again behind the last one.
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
