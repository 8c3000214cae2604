package node_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestLeadersAreAnnounced checks that subscribed clients hear of every change of leadership, from a node that keeps
// running.
func TestLeadersAreAnnounced(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	lead := c.leader()
	c.agree() // and the queried node knows the leader
	ctx := suite.Context(t)
	heard := errors.New("heard of another leader")
	err := c.dial((lead+1)%3).Subscribe(ctx, wire.Subscribe{Events: []string{"leader"}}, func(e wire.Event) error {
		switch e.EventType {
		case "subscribed":
			c.stop(lead)
		case "leader":
			var d struct{ Leader, Term uint64 }
			if err := json.Unmarshal(e.Data, &d); err != nil {
				return err
			}
			if d.Leader != 0 && d.Leader != uint64(lead+1) && d.Term > 0 { // the old leader is reported until another leads
				return heard
			}
		default:
			t.Errorf("an event that was not asked for: %s", e.EventType)
		}
		return nil
	})
	if !errors.Is(err, heard) {
		t.Error(err)
	}
}

// TestUnsubscribe ends the subscription of its stream, those to the same events, or all.
func TestUnsubscribe(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	k := newRawClient(t, c.nodes[0].Addrs().Wire)
	subscribe := func(events ...string) uint32 {
		t.Helper()
		at := k.send(wire.OpSubscribe, &wire.Subscribe{Events: events})
		if stream, e := k.event(); stream != at || e.EventType != "subscribed" {
			t.Fatalf("%d: %+v", stream, e)
		}
		return at
	}
	unsubscribe := func(stream uint32, events ...string) {
		t.Helper()
		b, err := wire.AppendPack(nil, wire.OpUnsubscribe, stream, &wire.Subscribe{Events: events}, false)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.nc.Write(b); err != nil {
			t.Fatal(err)
		}
		if at, e := k.event(); at != stream || e.EventType != "unsubscribed" {
			t.Fatalf("%d: %+v", at, e)
		}
	}
	// told writes and forgets a memory and returns the events of each stream. One event too many is the next one's
	// first.
	told := func(events int) string {
		t.Helper()
		rid, err := cl.Remember(t.Context(), wire.NewRemember("heard of"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cl.Forget(t.Context(), rid); err != nil {
			t.Fatal(err)
		}
		heard := make([]string, events)
		for i := range heard {
			stream, e := k.event()
			heard[i] = fmt.Sprint(stream, ":", e.EventType)
		}
		slices.Sort(heard)
		return strings.Join(heard, " ")
	}
	subscribe("stored") // on stream 2
	subscribe("forgotten")
	subscribe("stored") // on stream 4
	if got := told(3); got != "2:stored 3:forgotten 4:stored" {
		t.Errorf("heard %s", got)
	}
	unsubscribe(2)
	if got := told(2); got != "3:forgotten 4:stored" {
		t.Errorf("without stream 2, heard %s", got)
	}
	unsubscribe(99, "stored")
	if got := told(1); got != "3:forgotten" {
		t.Errorf("without those to stored, heard %s", got)
	}
	unsubscribe(98) // all
	told(0)
	for range 3 {
		k.send(wire.OpPing, nil)
		if f := k.next(); f.Op != wire.OpPong {
			t.Fatalf("a frame that was not asked for: %s", f)
		}
	}
}

// TestNothingComesBehindTheEnd checks that no event follows the confirmed end of a subscription, while other clients
// write.
func TestNothingComesBehindTheEnd(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	defer writing.Wait()
	defer stop()
	writing.Go(func() {
		s, caller := c.service(0)
		for ctx.Err() == nil {
			if _, err := remember(ctx, s, caller, "", api.Draft{Text: "heard of, or not"}); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	k := newRawClient(t, c.nodes[0].Addrs().Wire)
	rounds, many := 20, 100
	if testing.Short() {
		rounds, many = 1, 20
	}
	for range rounds {
		for range many { // some get events while others end
			k.send(wire.OpSubscribe, &wire.Subscribe{Events: []string{"stored"}})
		}
		for begun := 0; begun < many; {
			if _, e := k.event(); e.EventType == "subscribed" {
				begun++
			}
		}
		k.send(wire.OpUnsubscribe, nil) // all
		for _, e := k.event(); e.EventType != "unsubscribed"; _, e = k.event() {
		}
		ping := k.send(wire.OpPing, nil)
		for f := k.next(); f.Stream != ping; f = k.next() {
			t.Fatalf("behind the end: %s", f)
		}
	}
}

// TestALateSubscriberIsTold checks that a cursor before the beginning of the log gets "lagged" and then the existing
// events.
func TestALateSubscriberIsTold(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Storage.RetainOps = 5 })
	cl := c.dial(0)
	var last string
	for range 40 {
		var err error
		if last, err = cl.Remember(t.Context(), wire.NewRemember("soon gone from the log")); err != nil {
			t.Fatal(err)
		}
	}
	k := newRawClient(t, c.nodes[0].Addrs().Wire)
	k.send(wire.OpSubscribe, &wire.Subscribe{Events: []string{"stored"}, Cursor: 1})
	k.event() // subscribed
	if _, e := k.event(); e.EventType != "lagged" {
		t.Fatalf("%+v", e)
	}
	for {
		_, e := k.event()
		if e.EventType != "stored" {
			t.Fatalf("%+v", e)
		}
		if strings.Contains(string(e.Data), last) {
			return
		}
	}
}
