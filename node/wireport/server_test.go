package wireport

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/large"
)

const secret = "a cluster secret of more than 32 characters"

// door is a function that answers all operations.
type door func(c api.Caller, op *api.Op, request any) (any, error)

func (d door) Do(_ context.Context, c api.Caller, op *api.Op, request any) (any, error) {
	return d(c, op, request)
}
func (d door) May(api.Caller, *api.Op) error { return nil }

func (d door) Admit(c api.Caller, _ *api.Op) (api.Caller, error) { return c, nil }

// startPort starts a port in front of a door of the test, with a state that has the database "default".
func startPort(t *testing.T, d Door) (addr string) {
	t.Helper()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	body, err := oplog.Entry{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}.Encode()
	if err == nil {
		_, err = st.Apply([]oplog.Record{{Index: 1, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(1, 0, 1), body)}})
	}
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	node := uint32(2)
	w := New(Config{Door: d, Access: access.New(access.Config{State: st, Secrets: []string{secret}}),
		Conns: access.NewConns(100, 100), Log: log,
		Errors: Errors{Log: log, Leader: func() api.Leader {
			return api.Leader{ID: &node, Wire: "192.0.2.2:7437", HTTP: "http://192.0.2.2:7438", Term: 7}
		}},
		WaitOpen: func(context.Context) error { return nil }, Indexed: func() oplog.Index { return 42 },
		Budget: large.NewBudget(), Turns: large.NewTurns(), MaxInFlight: 100, AuthTimeout: time.Minute, WriteTimeout: time.Minute})
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go w.Run(ln)
	t.Cleanup(func() { w.Close() })
	return ln.Addr().String()
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return nc
}

// TestEveryRowIsAnswered: each row with an opcode has the exchange of this opcode, and every opcode of clients is a
// request of an exchange or one of its answers.
func TestEveryRowIsAnswered(t *testing.T) {
	t.Parallel()
	for _, op := range api.Ops {
		if op.Wire != 0 && exchanges[op.Wire].row != op {
			t.Errorf("row %s has opcode %s, which is not answered", op.Name, op.Wire)
		}
	}
	known := []wire.Op{wire.OpAuth, wire.OpAuthOK, wire.OpAuthFail, wire.OpError, wire.OpReadonlyError}
	for opcode, x := range exchanges {
		if x.row != nil && (x.row.Wire != opcode || !slices.Contains(api.Ops, x.row)) {
			t.Errorf("opcode %s is answered with row %s, whose opcode is %s", opcode, x.row.Name, x.row.Wire)
		}
		known = append(append(known, opcode), x.replies...)
	}
	for i := range 256 {
		op := wire.Op(i)
		if peers := op >= wire.OpClusterHello && op < wire.OpError; op.Known() && !peers && !slices.Contains(known, op) {
			t.Errorf("opcode %s has no row, and is no answer of another", op)
		}
	}
}

// TestRefusalsOverTheWire: an error of the door, before or after it reads the payload, is answered with the
// protocol's code for it.
func TestRefusalsOverTheWire(t *testing.T) {
	t.Parallel()
	const readonly = `{"leader_addr":"192.0.2.2:7437","leader_http":"http://192.0.2.2:7438","leader_id":2,"term":7}`
	for _, tc := range []struct {
		refusal error
		op      wire.Op
		code    wire.Code
		details string
	}{
		{oplog.Errorf(oplog.Invalid, "no such thing"), wire.OpError, wire.CodeInvalidPayload, ""},
		{oplog.Errorf(oplog.Conflict, "there is one"), wire.OpError, wire.CodeDBExists, ""},
		{oplog.Errorf(oplog.NotLeader, "not the leader"), wire.OpReadonlyError, wire.CodeReadonlyNode, readonly},
		{&oplog.Error{Kind: oplog.Unavailable, Text: "no quorum", Err: api.ErrNoLeader}, wire.OpReadonlyError, wire.CodeNoQuorum, readonly},
		{oplog.Errorf(oplog.Unavailable, "busy"), wire.OpError, wire.CodeNoQuorum, ""},
		{oplog.Errorf(oplog.UnknownOutcome, "perhaps"), wire.OpError, wire.CodeInternal, `{"unknown_outcome":true}`},
		{fmt.Errorf("the node's own"), wire.OpError, wire.CodeInternal, ""},
	} {
		for _, early := range []bool{false, true} {
			nc := dial(t, startPort(t, refusing{tc.refusal, early}))
			in := wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient)
			b, err := wire.AppendPack(nil, wire.OpAuth, 1, &wire.Auth{Token: secret}, false)
			if err == nil && early {
				b = wire.AppendFrame(b, wire.Empty(wire.OpCreateDB, 2)) // without a payload, so it must be rejected before
			} else if err == nil {
				b, err = wire.AppendPack(b, wire.OpCreateDB, 2, &wire.Name{Name: "made"}, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := nc.Write(b); err != nil {
				t.Fatal(err)
			}
			if f, err := in.Next(); err != nil || f.Op != wire.OpAuthOK {
				t.Fatal(f, err)
			}
			f, err := in.Next()
			if err != nil {
				t.Fatal(err)
			}
			var e wire.Error
			if err := wire.Unpack(f, &e, wire.MaxPlainClient); err != nil {
				t.Fatal(err)
			}
			code := tc.code
			if early && code == wire.CodeDBExists {
				code = wire.CodeInternal // only a conflict from Do is about the database
			}
			if f.Op != tc.op || e.Code != code || string(e.Details) != tc.details && (len(e.Details) > 0 || tc.details != "") {
				t.Errorf("%v (early: %t): %s %d %q %s", tc.refusal, early, f.Op, e.Code, e.Message, e.Details)
			}
		}
	}
}

// TestWhatWasAskedIsAnsweredAtTheEnd: a client that closes its sending side after its requests gets their answers,
// and then the end of the connection. Its subscriptions end with it.
func TestWhatWasAskedIsAnsweredAtTheEnd(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	nc := dial(t, startPort(t, door(func(_ api.Caller, op *api.Op, _ any) (any, error) {
		if op == api.Events.Op {
			return answerOf(op), nil
		}
		<-ended
		return &api.CreatedDatabase{ID: 2, Name: "made"}, nil
	})))
	end := sync.OnceFunc(func() { close(ended) })
	t.Cleanup(end)
	b, err := wire.AppendPack(nil, wire.OpAuth, 1, &wire.Auth{Token: secret}, false)
	if err == nil {
		b, err = wire.AppendPack(b, wire.OpSubscribe, 2, &wire.Subscribe{}, false)
	}
	for stream := uint32(3); stream < 5 && err == nil; stream++ {
		b, err = wire.AppendPack(b, wire.OpCreateDB, stream, &wire.Name{Name: "made"}, false)
	}
	if err == nil {
		_, err = nc.Write(b)
	}
	if err == nil {
		err = nc.(*net.TCPConn).CloseWrite()
	}
	if err != nil {
		t.Fatal(err)
	}
	in, answers := wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient), map[wire.Op]int{}
	readUntil := func(end error, patience time.Duration) {
		t.Helper()
		nc.SetReadDeadline(time.Now().Add(patience))
		for {
			f, err := in.Next()
			if errors.Is(err, end) {
				return
			}
			if err != nil {
				t.Fatal(answers, err)
			}
			answers[f.Op]++
		}
	}
	readUntil(os.ErrDeadlineExceeded, 200*time.Millisecond) // the other side stays open, however long they take
	end()
	readUntil(io.EOF, suite.Patience)
	if answers[wire.OpDBOK] != 2 {
		t.Errorf("two requests have the answers %v", answers)
	}
}

// refusing is a door that rejects a request before or after it is decoded.
type refusing struct {
	err   error
	early bool
}

func (r refusing) Do(context.Context, api.Caller, *api.Op, any) (any, error) { return nil, r.err }

func (r refusing) May(api.Caller, *api.Op) error { return nil }

func (r refusing) Admit(c api.Caller, _ *api.Op) (api.Caller, error) {
	if r.early {
		return c, r.err
	}
	return c, nil
}

// TestCompressedRequestsTakeTheirShare: a compressed request counts with its decompressed bytes against the budget.
// All requests are answered.
func TestCompressedRequestsTakeTheirShare(t *testing.T) {
	t.Parallel()
	const requests, size = 20, 8 << 20
	var decoded atomic.Int32
	goOn := make(chan struct{})
	nc := dial(t, startPort(t, door(func(api.Caller, *api.Op, any) (any, error) {
		decoded.Add(1)
		<-goOn
		return &api.CreatedDatabase{}, nil
	})))
	b, err := wire.AppendPack(nil, wire.OpAuth, 1, &wire.Auth{Token: secret}, false)
	name := strings.Repeat("a", size)
	for i := range requests {
		if err == nil {
			b, err = wire.AppendPack(b, wire.OpCreateDB, uint32(2+i), &wire.Name{Name: name}, false)
		}
	}
	if err != nil || len(b) > 1<<20 {
		t.Fatal(len(b), err)
	}
	if _, err := nc.Write(b); err != nil {
		t.Fatal(err)
	}
	if suite.Within(3*time.Second, func() bool { return decoded.Load()*size > 96<<20 }) {
		t.Errorf("%d requests of %d bytes are in memory", decoded.Load(), size)
	}
	if decoded.Load() == 0 {
		t.Error("no request was decoded")
	}
	close(goOn)
	in := wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient)
	for range requests + 1 {
		f, err := in.Next()
		var said wire.Error
		if err == nil && f.Op == wire.OpError { // on a slow machine a request may time out in the queue
			err = wire.Unpack(f, &said, wire.MaxPlainClient)
		}
		if err != nil || f.Op != wire.OpAuthOK && f.Op != wire.OpDBOK && said.Message != overloaded.Message {
			t.Fatal(f, err)
		}
	}
}
