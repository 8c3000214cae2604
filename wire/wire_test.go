package wire

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cockroachdb/datadriven"
)

// messages returns a new message of an opcode, for vectors and fuzzing.
var messages = map[Op]func() Message{
	OpAuth: func() Message { return new(Auth) }, OpAuthOK: func() Message { return new(AuthOK) },
	OpAuthFail: func() Message { return new(AuthFail) }, OpSelectDB: func() Message { return new(Name) },
	OpCreateDB: func() Message { return new(Name) }, OpDBOK: func() Message { return new(DBOK) },
	OpListDBResult: func() Message { return new(ListDBResult) }, OpRemember: func() Message { return new(Remember) },
	OpRememberOK: func() Message { return new(RememberOK) }, OpRememberBatch: func() Message { return new(RememberBatch) },
	OpRecall: func() Message { return new(Recall) }, OpRecallResult: func() Message { return new(RecallResult) },
	OpRecallEnd: func() Message { return new(RecallEnd) }, OpRelate: func() Message { return new(Relate) },
	OpRelateOK: func() Message { return new(RelateOK) }, OpEdges: func() Message { return new(Entity) },
	OpEdgesResult: func() Message { return new(EdgesResult) }, OpClaim: func() Message { return new(Claim) },
	OpClaimOK: func() Message { return new(ClaimOK) }, OpClaims: func() Message { return new(Claims) },
	OpClaimsResult: func() Message { return new(ClaimsResult) }, OpAlias: func() Message { return new(Alias) },
	OpAliasOK: func() Message { return new(AliasOK) }, OpForget: func() Message { return new(Forget) },
	OpForgetOK: func() Message { return new(ForgetOK) }, OpSessionStart: func() Message { return new(SessionStart) },
	OpSessionEnd: func() Message { return new(SessionEnd) }, OpThink: func() Message { return new(Think) },
	OpThinkResult: func() Message { return new(ThinkResult) }, OpSubscribe: func() Message { return new(Subscribe) },
	OpEvent: func() Message { return new(Event) }, OpConflicts: func() Message { return new(Conflicts) },
	OpResolve: func() Message { return new(Resolve) }, OpConflictResult: func() Message { return new(ConflictResult) },
	OpInfoResult: func() Message { return new(Stats) }, OpClusterHello: func() Message { return new(ClusterHello) },
	OpOperation: func() Message { return new(Operation) }, OpOperationResult: func() Message { return new(OperationResult) },
	OpClusterHelloOK: func() Message { return new(ClusterHelloOK) }, OpOplogPull: func() Message { return new(OplogPull) },
	OpOplogPullResult: func() Message { return new(OplogPullResult) }, OpOplogPush: func() Message { return new(OplogPush) },
	OpOplogPushOK: func() Message { return new(OplogPushOK) }, OpHeartbeat: func() Message { return new(Heartbeat) },
	OpHeartbeatAck: func() Message { return new(HeartbeatAck) }, OpRequestVote: func() Message { return new(RequestVote) },
	OpVoteGranted: func() Message { return new(Vote) }, OpVoteDenied: func() Message { return new(Vote) },
	OpClusterStatusResult: func() Message { return new(ClusterStatusResult) },
	OpReadonlyError:       func() Message { return new(Error) }, OpError: func() Message { return new(Error) },
	OpClusterDatabaseList:       func() Message { return new(Nothing) },
	OpClusterDatabaseListResult: func() Message { return new(DatabaseList) },
	OpSnapshotBegin:             func() Message { return new(SnapshotBegin) },
	OpSnapshotChunk:             func() Message { return new(SnapshotChunk) },
	OpSnapshotOK:                func() Message { return new(SnapshotOK) }, OpTimeoutNow: func() Message { return new(TimeoutNow) },
	OpForward: func() Message { return new(Forward) }, OpForwardOK: func() Message { return new(ForwardOK) },
	OpReadIndexOK: func() Message { return new(ReadIndexOK) }, OpMembership: func() Message { return new(Membership) },
	OpMembershipOK: func() Message { return new(MembershipOK) }, OpCompare: func() Message { return new(Compare) },
	OpCompareOK: func() Message { return new(CompareOK) },
}

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		b.WriteString(strings.Join(strings.Fields(line), ""))
	}
	raw, err := hex.DecodeString(b.String())
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestVectors decodes frames given in hex, prints their content, and encodes them again. A `same` frame must keep its
// bytes; a `read` frame is valid, but is encoded differently.
func TestVectors(t *testing.T) {
	datadriven.Walk(t, "testdata/vectors", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			raw := unhex(t, d.Input)
			f, err := NewReader(bytes.NewReader(raw), MaxLength).Next()
			if err != nil {
				return fmt.Sprintf("error: %v\n", err)
			}
			if !f.Op.Known() {
				return fmt.Sprintf("unknown opcode: 0x%02X\n", uint8(f.Op))
			}
			make, ok := messages[f.Op]
			if !ok || len(f.Payload) == 0 {
				if got := AppendFrame(nil, f); !bytes.Equal(got, raw) {
					t.Errorf("%s: encodes to %x", d.Pos, got)
				}
				return fmt.Sprintf("%s stream=%d\n", f.Op, f.Stream)
			}
			m := make()
			if err := Unpack(f, m, MaxPlainPeer); err != nil {
				return fmt.Sprintf("%s stream=%d error: %v\n", f.Op, f.Stream, err)
			}
			if d.Cmd == "same" {
				got, err := AppendPack(nil, f.Op, f.Stream, m, f.JSON())
				if err != nil || !bytes.Equal(got, raw) {
					t.Errorf("%s: encodes to\n%x (%v), want\n%x", d.Pos, got, err, raw)
				}
			}
			text, err := msgpackToJSON(encodeInto(nil, m))
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("%s stream=%d %s\n", f.Op, f.Stream, text)
		})
	})
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 6, 1, 0xF1, 0, 0, 0, 7})
	f.Add([]byte{0xFF, 0xFF, 0xFF, 0xFF, 1, 0x20})
	f.Fuzz(func(t *testing.T, in []byte) {
		whole, err := NewReader(bytes.NewReader(in), MaxLength).Next()
		torn, tornErr := NewReader(iotest.OneByteReader(bytes.NewReader(in)), MaxLength).Next()
		if (err == nil) != (tornErr == nil) {
			t.Fatalf("whole: %v, byte by byte: %v", err, tornErr)
		}
		if err == nil && (!bytes.HasPrefix(in, AppendFrame(nil, whole)) || whole.String() != torn.String()) {
			t.Fatalf("%s does not survive a round trip", whole)
		}
	})
}

// FuzzUnpack: a decoded message, encoded and decoded again, stays the same.
func FuzzUnpack(f *testing.F) {
	for op := range messages {
		f.Add(byte(op), byte(1), []byte{0x80})
		f.Add(byte(op), byte(0x81), []byte(`{"text":"x","query":"y"}`))
	}
	f.Fuzz(func(t *testing.T, op, flags byte, payload []byte) {
		make, ok := messages[Op(op)]
		if !ok {
			return
		}
		m := make()
		if Unpack(Frame{Flags: flags, Op: Op(op), Payload: payload}, m, MaxPlainEarly) != nil {
			return
		}
		again := make()
		first := encodeInto(nil, m)
		if err := Unpack(Frame{Flags: 1, Op: Op(op), Payload: first}, again, MaxPlainPeer); err != nil {
			t.Fatalf("%s: own encoding refused: %v", Op(op), err)
		}
		if second := encodeInto(nil, again); !bytes.Equal(first, second) {
			t.Fatalf("%s: %x, then %x", Op(op), first, second)
		}
	})
}

func TestScanRefusesBombs(t *testing.T) {
	deep := bytes.Repeat([]byte{0x91}, 4<<20)
	for name, b := range map[string][]byte{
		"deep":          append(deep, 0x01),
		"huge array":    {0xDD, 0xFF, 0xFF, 0xFF, 0xFF},
		"huge map":      {0xDF, 0xFF, 0xFF, 0xFF, 0xFF},
		"huge string":   {0xDB, 0xFF, 0xFF, 0xFF, 0xFF},
		"reserved byte": {0xC1},
		"nothing":       {},
	} {
		if _, err := Scan(b); !errors.Is(err, ErrPayload) {
			t.Errorf("%s: got %v, want a refusal", name, err)
		}
	}
	if n, err := Scan(append(bytes.Repeat([]byte{0x91}, MaxDepth), 0x01)); err != nil || n != MaxDepth+1 {
		t.Errorf("depth %d: %d, %v", MaxDepth, n, err)
	}
}

func TestZipBomb(t *testing.T) {
	bomb := encoder().EncodeAll(make([]byte, 256<<20), nil)
	for _, limit := range []int{MaxPlainEarly, MaxPlainClient, MaxPlainPeer} {
		_, err := Plain(Frame{Flags: Version | FlagZstd, Op: OpRemember, Payload: bomb}, limit)
		if !errors.Is(err, ErrPayload) {
			t.Errorf("limit %d: got %v, want a refusal", limit, err)
		}
	}
}

func TestReaderCapsBeforeReading(t *testing.T) {
	r := NewReader(iotest.ErrReader(io.ErrClosedPipe), 100)
	if _, err := r.Next(); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
	var fe *FrameError
	_, err := NewReader(bytes.NewReader([]byte{0, 0, 1, 0}), 100).Next()
	if !errors.As(err, &fe) || fe.Text != "frame body too large: 256 bytes" {
		t.Errorf("got %v", err)
	}
}

// BenchmarkRemember measures a node's decoding of a request and encoding of the answer.
func BenchmarkRemember(b *testing.B) {
	m := NewRemember(strings.Repeat("memory ", 45))
	m.IdempotencyKey, m.Embedding = strings.Repeat("k", 36), make([]float32, 64)
	for i := range m.Embedding {
		m.Embedding[i] = float32(i) / 64
	}
	payload := encodeInto(nil, &m)
	b.Run("request", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got Remember
			if err := UnpackExact(Frame{Flags: 1, Op: OpRemember, Payload: payload}, &got, MaxPlainClient); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("answer", func(b *testing.B) {
		var buf []byte
		answer := RememberOK{RID: m.IdempotencyKey, Index: 1 << 20}
		b.ReportAllocs()
		for b.Loop() {
			var err error
			if buf, err = AppendPack(buf[:0], OpRememberOK, 1, &answer, false); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRecall measures writing and reading a question and a result with one memory.
func BenchmarkRecall(b *testing.B) {
	q := NewRecall("who leads the payments team?")
	namespace := "default"
	q.Namespace, q.QueryEmbedding, q.Explain = &namespace, make([]float32, 64), true
	found := RecallResult{RID: strings.Repeat("r", 36), Text: strings.Repeat("memory ", 45),
		Metadata:   JSON(`{"channel":"mail","tags":["a","b"]}`),
		MemoryType: "semantic", Namespace: namespace, Source: "user", Importance: 0.5, Score: 0.75,
		WhyRetrieved: []string{"vector", "text"}}
	request, result := encodeInto(nil, &q), encodeInto(nil, &found)
	for name, f := range map[string]func() error{
		"write request": func() error { request = encodeInto(request[:0], &q); return nil },
		"write result":  func() error { result = encodeInto(result[:0], &found); return nil },
		"read request": func() error {
			return UnpackExact(Frame{Flags: 1, Op: OpRecall, Payload: request}, new(Recall), MaxPlainClient)
		},
		"read result": func() error {
			return Unpack(Frame{Flags: 1, Op: OpRecallResult, Payload: result}, new(RecallResult), MaxPlainClient)
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppend measures encoding an append request of a leader under load, and decoding it.
func BenchmarkAppend(b *testing.B) {
	m := OplogPush{Database: "default", Ops: []OplogEntry{},
		Raft: &RaftAppend{Term: 3, Leader: 1, LeaderAddr: "10.0.0.1:7440", PrevIndex: 1 << 20, PrevTerm: 3, Commit: 1 << 20}}
	for i := range 64 {
		m.Raft.Entries = append(m.Raft.Entries, RaftEntry{Index: 1<<20 + uint64(i), Term: 3, Data: make([]byte, 400), AppendedAt: 1})
	}
	buf := encodeInto(nil, &m)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			buf = encodeInto(buf[:0], &m)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var got OplogPush
			if err := Unpack(Frame{Flags: 1, Op: OpOplogPush, Payload: buf}, &got, MaxPlainPeer); err != nil {
				b.Fatal(err)
			}
		}
	})
}
