package wireport

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// requests holds a request for each opcode, in which all fields not set here get their own values. An opcode without
// a request fails the test.
var requests = map[wire.Op]wire.Message{
	wire.OpRemember:      &wire.Remember{},
	wire.OpRememberBatch: &wire.RememberBatch{},
	wire.OpRecall: &wire.Recall{Consistency: "linearizable", Since: 1_700_000_000, Until: 1_800_000_000.5,
		Without: []string{"vector"}},
	wire.OpForget:        &wire.Forget{},
	wire.OpRelate:        &wire.Relate{},
	wire.OpEdges:         &wire.Entity{},
	wire.OpClaim:         &wire.Claim{Polarity: -1},
	wire.OpClaims:        &wire.Claims{},
	wire.OpAlias:         &wire.Alias{},
	wire.OpSessionStart:  &wire.SessionStart{},
	wire.OpSessionEnd:    &wire.SessionEnd{},
	wire.OpThink:         &wire.Think{},
	wire.OpConflicts:     &wire.Conflicts{},
	wire.OpResolve:       &wire.Resolve{Strategy: "merge"},
	wire.OpPersonality:   nil,
	wire.OpStats:         nil,
	wire.OpCreateDB:      &wire.Name{},
	wire.OpListDB:        nil,
	wire.OpClusterStatus: nil,
	wire.OpSubscribe:     &wire.Subscribe{},
}

// TestVectors compares the request that each opcode makes of the door, and the bytes of its answer, with a golden
// file.
func TestVectors(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	nc := dial(t, startPort(t, door(func(_ api.Caller, op *api.Op, request any) (any, error) {
		fmt.Fprintf(&said, "  asks %s\n", op.Name)
		dump(&said, "  ", "", reflect.ValueOf(request))
		return answerOf(op), nil
	})))
	in := wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient)
	send := func(op wire.Op, stream uint32, m wire.Message) {
		b := wire.AppendFrame(nil, wire.Empty(op, stream))
		if m != nil {
			var err error
			if b, err = wire.AppendPack(nil, op, stream, m, false); err != nil {
				t.Fatal(op, err)
			}
		}
		if _, err := nc.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	next := func() wire.Frame {
		if err := nc.SetReadDeadline(time.Now().Add(suite.Patience)); err != nil {
			t.Fatal(err)
		}
		f, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	send(wire.OpAuth, 0, &wire.Auth{Token: secret})
	if f := next(); f.Op != wire.OpAuthOK {
		t.Fatal(f)
	}
	var rows []*api.Op
	for _, op := range api.Ops {
		if op.Wire != 0 {
			rows = append(rows, op)
		}
	}
	slices.SortFunc(rows, func(a, b *api.Op) int { return cmp.Compare(a.Wire, b.Wire) })
	for i, op := range rows {
		m, known := requests[op.Wire]
		if !known {
			t.Errorf("no vector for opcode %s", op.Wire)
			continue
		}
		if m != nil {
			fill(reflect.ValueOf(m).Elem(), "")
		}
		fmt.Fprintf(&said, "%s\n", op.Wire)
		send(op.Wire, uint32(i+1), m)
		for {
			f := next()
			fmt.Fprintf(&said, "  %s %x\n", f.Op, wire.AppendFrame(nil, f))
			if !slices.Contains([]wire.Op{wire.OpRecallResult, wire.OpEvent}, f.Op) ||
				f.Op == wire.OpEvent && strings.Contains(string(f.Payload), "lagged") {
				break
			}
		}
	}
	const golden = "testdata/vectors.txt"
	if os.Getenv("CAIRN_UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(said.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(said.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("%s:%d:\n got %s\nwant %s", golden, i+1, got[min(i, len(got)-1)], line)
		}
	}
	if len(got) != len(strings.Split(string(want), "\n")) {
		t.Errorf("%s ends early", golden)
	}
}

// answerOf returns an answer of an operation in which every field has its own value.
func answerOf(op *api.Op) any {
	a := reflect.New(reflect.TypeOf(op.Answer()).Elem())
	fill(a.Elem(), "")
	if sub, ok := a.Interface().(*api.Subscription); ok {
		sub.Close = func() {}
		sub.Follow = func(ctx context.Context, tell func(api.Event) error) error {
			for _, e := range []api.Event{{}, {Name: "stored", Index: 7, Data: json.RawMessage(`{"index":7}`)},
				{Name: "lagged", Data: json.RawMessage(`{}`)}} {
				if err := tell(e); err != nil {
					return err
				}
			}
			<-ctx.Done()
			return nil
		}
	}
	return a.Interface()
}

// fill gives each empty field its own value, made from the path of the field alone, so that a new field does not
// change the values of others.
func fill(v reflect.Value, path string) {
	h := fnv.New32()
	h.Write([]byte(path))
	n := h.Sum32()%97 + 1
	switch {
	case v.Type() == reflect.TypeFor[wire.JSON]() || v.Type() == reflect.TypeFor[json.RawMessage]():
		v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, n))
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_700_000_000+int64(n), 0).UTC()))
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Anonymous {
				fill(v.Field(i), path)
			} else if f.IsExported() {
				fill(v.Field(i), path+"."+f.Name)
			}
		}
	case v.IsZero():
		switch v.Kind() {
		case reflect.Pointer:
			v.Set(reflect.New(v.Type().Elem()))
			fill(v.Elem(), path)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0), path+"0")
			fill(v.Index(1), path+"1")
		case reflect.String:
			v.SetString(path[strings.LastIndexByte(path, '.')+1:])
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Float32, reflect.Float64:
			v.SetFloat(float64(n) / 128)
		case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
			v.SetInt(int64(n))
		case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
			v.SetUint(uint64(n))
		}
	}
}

// dump prints the fields of a value, one on each line, without zero ones.
func dump(b *strings.Builder, indent, name string, v reflect.Value) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.IsZero() {
		return
	}
	switch d := v.Interface().(type) {
	case field.Date:
		fmt.Fprintf(b, "%s%s %s\n", indent, name, d.UTC().Format(time.RFC3339Nano))
		return
	case time.Time:
		fmt.Fprintf(b, "%s%s %s\n", indent, name, d.UTC().Format(time.RFC3339Nano))
		return
	case json.RawMessage:
		fmt.Fprintf(b, "%s%s %s\n", indent, name, d)
		return
	}
	switch {
	case v.Kind() == reflect.Struct:
		if name != "" {
			fmt.Fprintf(b, "%s%s\n", indent, name)
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				dump(b, indent+"  ", v.Type().Field(i).Name, v.Field(i))
			}
		}
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			dump(b, indent, fmt.Sprintf("%s[%d]", name, i), v.Index(i))
		}
	default:
		fmt.Fprintf(b, "%s%s %v\n", indent, name, v.Interface())
	}
}
