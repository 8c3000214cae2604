package peerport

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// all pulls a log from its beginning in one page.
func all(t *testing.T, p *Port) []wire.OplogEntry {
	t.Helper()
	var page wire.OplogPullResult
	ask(t, p, wire.OpOplogPull, &wire.OplogPull{Database: "default", Limit: wire.MaxOps}, wire.OpOplogPullResult, &page)
	return page.Ops
}

func remembered(rid string) *oplog.Remember {
	return &oplog.Remember{Content: oplog.Content{RID: rid, Text: "a heron", Namespace: "default", Created: 1, Updated: 1}}
}

// TestOperationsOfTwoClustersDiffer: a third cluster accepts operations that two clusters wrote in the same
// millisecond, and a reader may exclude those of one.
func TestOperationsOfTwoClustersDiffer(t *testing.T) {
	t.Parallel()
	a, b, c := newEngine(t), newEngine(t), newEngine(t)
	a.apply(oplog.DefaultDB, remembered("of a"))
	b.apply(oplog.DefaultDB, remembered("of b"))
	for _, from := range []*engine{a, b} {
		ops := all(t, from.port())
		var ok wire.OplogPushOK
		ask(t, c.port(), wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: ops}, wire.OpOplogPushOK, &ok)
		if ok.Applied != 1 {
			t.Errorf("%d of %d operations of a cluster are new", ok.Applied, len(ops))
		}
	}
	var page wire.OplogPullResult
	ask(t, c.port(), wire.OpOplogPull, &wire.OplogPull{Database: "default", Limit: 9, ExcludeActor: &all(t, a.port())[0].OriginActor},
		wire.OpOplogPullResult, &page)
	if len(page.Ops) != 1 || *page.Ops[0].TargetRID != "of b" {
		t.Errorf("without those of a cluster: %+v", page.Ops)
	}
}

// TestPushedAtTheSameTime: an operation in two concurrent pushes is in the log twice, but is pulled once.
func TestPushedAtTheSameTime(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for range 2 {
		e.apply(oplog.DefaultDB, &oplog.Foreign{OpID: "theirs", Type: "record", Stored: remembered("m")})
	}
	if ops := all(t, e.port()); len(ops) != 1 {
		t.Errorf("pulled %+v", ops)
	}
}

// TestQuarantineStaysHere: memories in quarantine are not sent to peers, also if they were imported into it.
func TestQuarantineStaysHere(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	held, imported := remembered("held"), remembered("imported")
	held.Held, imported.Was = true, &oplog.History{Past: oplog.Past{Status: oplog.Quarantined}}
	e.apply(oplog.DefaultDB, held)
	e.apply(oplog.DefaultDB, imported)
	if ops := all(t, e.port()); len(ops) != 0 {
		t.Errorf("pulled %+v", ops)
	}
}

// TestAPageOfNamesFitsIntoAFrame: operations with names of the maximum length can be pulled, whatever page size a
// reader requests.
func TestAPageOfNamesFitsIntoAFrame(t *testing.T) {
	t.Parallel()
	e, rng := newEngine(t), rand.New(rand.NewPCG(1, 2))
	name := func() string {
		b := make([]byte, oplog.MaxName)
		for i := range b {
			b[i] = byte(' ' + rng.IntN(95))
		}
		return string(b)
	}
	for range 4 {
		var ops []oplog.Op
		for range wire.MaxOps / 4 {
			ops = append(ops, &oplog.Foreign{OpID: name(), Type: name(), Actor: name(), Origin: name()})
		}
		e.apply(oplog.DefaultDB, ops...)
	}
	p, q, n := e.port(), &wire.OplogPull{Database: "default", Limit: wire.MaxOps}, 0
	for more := true; more; {
		var page wire.OplogPullResult
		ask(t, p, wire.OpOplogPull, q, wire.OpOplogPullResult, &page)
		n, more = n+len(page.Ops), page.HasMore
		last := page.Ops[len(page.Ops)-1]
		q.SinceHLC, q.SinceOpID = last.HLC, &last.OpID
	}
	if n != wire.MaxOps {
		t.Errorf("%d operations, want %d", n, wire.MaxOps)
	}
}

// TestALongMemoryGoesOn: if the payload of an operation was too long to be stored, it is made again from the memory
// here. A relation keeps the time of its creation elsewhere.
func TestALongMemoryGoesOn(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	long := remembered("m")
	long.Text = strings.Repeat("\x01", oplog.MaxText)
	e.apply(oplog.DefaultDB, &oplog.Foreign{OpID: "theirs", Type: "record", Stored: long, Actor: "a", Origin: "o"})
	ops := all(t, e.port())
	if len(ops) != 1 || ops[0].OpID != "theirs" || ops[0].OriginActor != "o" || len(ops[0].Payload) < 6*oplog.MaxText {
		t.Fatalf("%d operations", len(ops))
	}
	op, err := e.port().foreign(&wire.OplogEntry{OpID: "x", OpType: "relate",
		Payload: wire.JSON(`{"src":"a","dst":"b","rel_type":"t","weight":1,"created_at":1700000000.5}`)})
	if err != nil || op.Related.Since != 1_700_000_000_500_000 {
		t.Errorf("%+v, %v", op.Related, err)
	}
}

// TestABlankCursor: a pull with a blank op id starts at the beginning. A pull with an unknown id gets an error.
func TestABlankCursor(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.apply(oplog.DefaultDB, remembered("m"))
	var page wire.OplogPullResult
	ask(t, e.port(), wire.OpOplogPull, &wire.OplogPull{Database: "default", Limit: 1, SinceOpID: new("")}, wire.OpOplogPullResult, &page)
	if len(page.Ops) != 1 {
		t.Errorf("pulled %+v", page.Ops)
	}
	var said wire.Error
	ask(t, e.port(), wire.OpOplogPull, &wire.OplogPull{Database: "default", Limit: 1, SinceOpID: new("unknown")}, wire.OpError, &said)
	if !strings.Contains(string(said.Details), "snapshot_required") {
		t.Errorf("behind an unknown operation: %+v", said)
	}
}
