package node_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// peerOperation returns an operation of a peer with a payload.
func peerOperation(t testing.TB, id, kind string, payload obj) wire.OplogEntry {
	t.Helper()
	b, err := json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	return wire.OplogEntry{OpID: id, OpType: kind, Payload: b, ActorID: "a", OriginActor: "a", HLC: make([]byte, 16), FormatVersion: 1}
}

// push sends operations to database "default".
func (p *peerConn) push(ops ...wire.OplogEntry) (r wire.OplogPushOK) {
	p.t.Helper()
	f := p.ask(wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: ops})
	if err := wire.Unpack(f, &r, wire.MaxPlainPeer); err != nil || f.Op != wire.OpOplogPushOK {
		p.t.Fatalf("a push is answered with %s, %v", f.Op, err)
	}
	return r
}

// TestARefusedOperationStandsAlone checks that a push with a text that was erased for good names it in the answer and
// stores the other operations, of which subscribers are notified.
func TestARefusedOperationStandsAlone(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w, p := c.web(0), dialStranger(t, c.nodes[0].Addrs().Cluster)
	erase := obj{"rids": []string{w.ok("POST", "/v1/remember", obj{"text": "the heron nests at the mill"})["rid"].(string)}}
	erase["confirm"] = w.ok("POST", "/v1/erase", erase)["confirm"]
	w.ok("POST", "/v1/erase", erase)

	heard := w.listen("")
	heard.next() // subscribed
	r := p.push(peerOperation(t, "1", "record", obj{"rid": "r1", "text": "one"}),
		peerOperation(t, "2", "record", obj{"rid": "r2", "text": "The heron nests at  the mill"}),
		peerOperation(t, "3", "record", obj{"rid": "r3", "text": "three"}), peerOperation(t, "4", "forget", obj{"rid": "r1"}))
	if r.Applied != 3 || r.LastOpID != "4" || len(r.Refused) != 1 || r.Refused[0].OpID != "2" ||
		!strings.Contains(r.Refused[0].Message, "erased for good") {
		t.Fatalf("%+v", r)
	}
	at := c.nodes[0].Service().RaftStatus().LastIndex
	if r = p.push(peerOperation(t, "2", "record", obj{"rid": "r2", "text": "the heron nests at the mill"})); r.Applied != 0 ||
		len(r.Refused) != 1 || c.nodes[0].Service().RaftStatus().LastIndex != at {
		t.Errorf("the erased text again: %+v", r)
	}
	for _, want := range []string{"stored r1", "stored r3", "forgotten r1"} {
		_, name, data := heard.next()
		if got := fmt.Sprint(name, " ", data["id"]); got != want {
			t.Errorf("heard %s, want %s", got, want)
		}
	}
}

// TestNumbersOfAPeer checks that numbers of a peer above our maximum are stored as the maximum, like those of
// clients.
func TestNumbersOfAPeer(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w, p := c.web(0), dialStranger(t, c.nodes[0].Addrs().Cluster)
	p.push(peerOperation(t, "1", "record", obj{"rid": "r1", "text": "one", "importance": 1e90, "valence": -7, "certainty": 2}))
	m := w.ok("GET", "/v1/memory/r1", nil)
	if m["importance"] != 1.0 || m["valence"] != -1.0 || m["certainty"] != 1.0 {
		t.Errorf("stored %v, %v, %v", m["importance"], m["valence"], m["certainty"])
	}
}

// TestALargePushIsStored checks that operations that fit a frame but not one entry are stored, also a memory of the
// maximum length in any characters.
func TestALargePushIsStored(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	p := dialStranger(t, c.nodes[0].Addrs().Cluster)
	var ops []wire.OplogEntry
	for i := range 16 {
		text := strings.Repeat(fmt.Sprint("word", i, " "), oplog.MaxText/8)
		ops = append(ops, peerOperation(t, fmt.Sprint(i), "record", obj{"rid": fmt.Sprint("r", i), "text": text}))
	}
	ops = append(ops, peerOperation(t, "long", "record", obj{"rid": "long", "text": "x" + strings.Repeat("\x01", oplog.MaxText-1),
		"metadata": obj{"m": strings.Repeat("<", oplog.MaxMetadata-100)}}))
	if r := p.push(ops...); r.Applied != uint64(len(ops)) || len(r.Refused) != 0 {
		t.Fatalf("%d of %d are stored, refused %v", r.Applied, len(ops), r.Refused)
	}
	if m := c.web(0).ok("GET", "/v1/memory/long", nil); len(m["text"].(string)) != oplog.MaxText {
		t.Errorf("a text of %d bytes", len(m["text"].(string)))
	}
}
