package state

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// hostile returns values that a malicious peer may put into a field of the type.
func hostile(v reflect.Value) (values []reflect.Value) {
	add := func(x any) { values = append(values, reflect.ValueOf(x).Convert(v.Type())) }
	switch v.Kind() {
	case reflect.String:
		for _, s := range []string{"", strings.Repeat("k", 40_000), strings.Repeat("k", oplog.MaxKey-3), "\xff\x00", "edge:"} {
			add(s)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			for _, s := range []string{"", "k", `{"a":null}`, strings.Repeat("[", 20_000), strings.Repeat("k", 40_000)} {
				add([]byte(s))
			}
		} else {
			values = append(values, reflect.Zero(v.Type()))
		}
	case reflect.Pointer:
		values = append(values, reflect.Zero(v.Type()))
	case reflect.Float64:
		for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.Copysign(0, -1)} {
			add(f)
		}
	case reflect.Int8, reflect.Int64:
		for _, n := range []int64{0, -1, math.MinInt8, math.MaxInt8} {
			add(n)
		}
		if v.Kind() == reflect.Int64 {
			add(int64(math.MinInt64))
			add(int64(math.MaxInt64))
		}
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		add(0)
		add(uint64(math.MaxUint64) >> (64 - v.Type().Bits()))
	case reflect.Bool:
		add(!v.Bool())
	}
	return values
}

// fill sets every field of an operation, and all names to the same one.
func fill(v reflect.Value, name string) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), name)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), name)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a":12}`)) // 8 bytes, so it is also a vector of two numbers
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), name)
	case reflect.String:
		v.SetString(name)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Int8, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}

// fields visits every field of an operation, including nested ones.
func fields(v reflect.Value, path string, f func(path string, v reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fields(v.Field(i), path+"."+v.Type().Field(i).Name, f)
		}
		return
	case reflect.Pointer:
		fields(v.Elem(), path, f)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 && v.Len() > 0 {
			fields(v.Index(0), path+"[0]", f)
		}
	}
	if v.CanSet() {
		f(path, v)
	}
}

// hostileEntries returns entries of every kind with one field, or the key of the entry, that no door would accept.
func hostileEntries() (names []string, entries []oplog.Entry) {
	add := func(name string, e oplog.Entry) {
		if _, err := e.Encode(); err == nil {
			names, entries = append(names, name), append(entries, e)
		}
	}
	for _, k := range oplog.Reads() {
		named := func(name string) oplog.Op {
			op := oplog.OpKind(k).New()
			fill(reflect.ValueOf(op).Elem(), name)
			return op
		}
		made := func() oplog.Op { return named("x") }
		db := oplog.DB(1)
		if oplog.OpKind(k) >= oplog.KindOf[oplog.CreateDB]() && oplog.OpKind(k) < oplog.KindOf[oplog.Foreign]() &&
			oplog.OpKind(k) != oplog.KindOf[oplog.SetEmbedder]() || oplog.OpKind(k) == oplog.KindOf[oplog.Init]() {
			db = 0
		}
		add(oplog.OpKind(k).String(), oplog.Entry{Node: 1, DB: db, Ops: []oplog.Op{made()}})
		add(oplog.OpKind(k).String()+" in no database", oplog.Entry{Node: 1, DB: 77, Ops: []oplog.Op{made()}})
		for _, key := range []string{strings.Repeat("k", 40_000), strings.Repeat("k", oplog.MaxKey),
			strings.Repeat("k", oplog.MaxKey-8), "\x00"} {
			add(fmt.Sprintf("%s under a key of %d", oplog.OpKind(k).String(), len(key)),
				oplog.Entry{Node: 1, DB: db, Key: key, Ops: []oplog.Op{made()}})
		}
		count := 0
		fields(reflect.ValueOf(made()).Elem(), oplog.OpKind(k).String(), func(string, reflect.Value) { count++ })
		for n := range count {
			for i := 0; ; i++ {
				op, at, path, more := named([]string{"x", fmt.Sprint("new", len(entries))}[i%2]), 0, "", false
				fields(reflect.ValueOf(op).Elem(), oplog.OpKind(k).String(), func(p string, v reflect.Value) {
					if at++; at-1 != n {
						return
					}
					if values := hostile(v); i/2 < len(values) {
						v.Set(values[i/2])
						path, more = p, true
					}
				})
				if !more {
					break
				}
				add(fmt.Sprintf("%s, value %d", path, i), oplog.Entry{Node: 1, DB: db, Ops: []oplog.Op{op}})
				add(fmt.Sprintf("%s, value %d, after a good one", path, i), oplog.Entry{Node: 1, DB: db, Ops: []oplog.Op{made(), op}})
			}
		}
	}
	return names, entries
}

// TestHostileFields applies every kind of operation, with fields that are too long for a key, empty or odd. No record
// stops a state. States that apply the records one by one or in batches, encrypted or not, are the same.
func TestHostileFields(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one entry after the other, which takes the race detector too long")
	}
	dir := t.TempDir()
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	plain, sealed, whole := mustOpen(t, filepath.Join(dir, "plain")), mustOpenSealed(t, filepath.Join(dir, "sealed"), keys), mustOpen(t, filepath.Join(dir, "whole"))
	states := []*State{plain, sealed, whole}
	for _, s := range states {
		defer s.Close()
	}
	records := []oplog.Record{record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}),
		record(2, []oplog.Entry{{Ops: []oplog.Op{&oplog.CreateDB{Name: "x"}}}})}
	names, entries := hostileEntries()
	if len(entries) < 2000 {
		t.Fatalf("only %d entries were made", len(entries))
	}
	for i, e := range entries {
		records = append(records, record(oplog.Index(i+3), []oplog.Entry{e}))
	}
	name := func(i oplog.Index) string { return append([]string{"", "init", "create"}, names...)[i] }
	var said []string
	tell := func(s *State, out []oplog.Outcome, told []string) []string {
		for _, o := range out {
			told = append(told, fmt.Sprintf("%d %v %x", o.Index, o.Err, oplog.Pack(nil, &o.Results)))
		}
		return told
	}
	refused := map[oplog.Kind]int{}
	for batch := range slices.Chunk(records, 100) {
		out, err := plain.Apply(batch)
		if err != nil {
			for _, r := range batch { // find the record
				if _, err := plain.Apply([]oplog.Record{r}); err != nil {
					t.Fatalf("%s stops the state: %v", name(r.Index), err)
				}
			}
			t.Fatal(err)
		}
		for _, o := range out {
			if o.Err != nil {
				refused[o.Err.Kind]++
			}
		}
		said = tell(plain, out, said)
	}
	if refused[oplog.TooLarge] < 100 || refused[oplog.Invalid] < 100 {
		t.Errorf("refused %v: what is refused was not reached", refused)
	}
	for s, size := range map[*State]int{sealed: 7, whole: len(records)} {
		var told []string
		for batch := range slices.Chunk(records, size) {
			out, err := s.Apply(batch)
			if err != nil {
				t.Fatalf("in batches of %d: %v", size, err)
			}
			told = tell(s, out, told)
		}
		for i := range said {
			if said[i] != told[i] {
				t.Errorf("%s: %.300s, and in batches of %d %.300s", name(oplog.Index(i+1)), said[i], size, told[i])
			}
		}
	}
	_, want := plain.Sum()
	for _, s := range states {
		if _, got := s.Sum(); got != want {
			t.Errorf("%s hashes to %s, plain to %s", s.dir, got, want)
		}
		if err := s.Verify(); err != nil {
			t.Errorf("%s: %v", s.dir, err)
		}
	}
}

// FuzzApply: Apply applies or rejects every entry that the decoder accepts. Afterwards the hash of the state equals
// that of its rows.
func FuzzApply(f *testing.F) {
	_, entries := hostileEntries()
	for i := 0; i < len(entries); i += 97 {
		if body, err := entries[i].Encode(); err == nil && len(body) < 4096 {
			f.Add(body)
		}
	}
	s := mustOpen(f, filepath.Join(f.TempDir(), "state"))
	f.Cleanup(func() { s.Close() })
	mustApply(f, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
	f.Fuzz(func(t *testing.T, body []byte) {
		if _, err := oplog.DecodeEntry(body); err != nil {
			return
		}
		at, _ := s.Applied()
		_, err := s.Apply([]oplog.Record{{Index: at + 1, Term: 1,
			Data: oplog.EncodeRecord(oplog.MakeHLC(1_700_000_000_000+uint64(at)*1000, 0, 1), body)}})
		if err != nil && !errors.Is(err, oplog.ErrRecord) {
			t.Fatal(err)
		}
		if err := s.Read(func(v *View) error {
			if got := v.Recount(); got != v.Sum() {
				t.Errorf("the running sum is %s, the state's is %s", v.Sum(), got)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}
