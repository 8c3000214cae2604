package state

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cairndb/cairn/oplog"
)

// TestRowsAreTheLibrarys: Pack encodes the row types of this package like the msgpack library, and Unpack decodes
// them.
func TestRowsAreTheLibrarys(t *testing.T) {
	results := []oplog.Result{{ID: "m", Num: 7, Changed: true, Rows: []string{"a"}}, {},
		{Session: &oplog.SessionSummary{ID: "s"}, Thought: &oplog.Thought{}}}
	for _, v := range []any{
		&keyRecord{}, &keyRecord{Digest: []byte{1}, Expires: -5, Kept: 1 << 40, Results: results},
		&oplog.Counts{}, &oplog.Counts{Active: 1, Consolidated: 1 << 40, Tombstoned: 7},
		&logRow{}, &logRow{extent: extent{HLC: oplog.MakeHLC(9, 8, 7), Entries: 3, Ops: 300}, Check: 1 << 31,
			Notes: []note{{Entry: 1, Void: true}, {Entry: 2, Idle: []int{1}, Rows: []string{"a", "b"}}}},
		&position{}, &position{Point: Point{Index: 7, Term: 2, Sum: Sum{1, 2}}, Last: oplog.MakeHLC(9, 8, 7), Ops: 300, First: 5,
			Oldest: oplog.MakeHLC(1, 2, 3), Trimmed: oplog.MakeHLC(1, 1, 3)},
	} {
		var want bytes.Buffer
		enc := msgpack.NewEncoder(&want)
		enc.UseCompactInts(true)
		must(t, enc.Encode(v))
		if got := oplog.Pack(nil, v); !bytes.Equal(got, want.Bytes()) {
			t.Errorf("%T:\n got %x\nwant %x", v, got, want.Bytes())
		}
		of := reflect.TypeOf(v).Elem()
		read, decoded := reflect.New(of).Interface(), reflect.New(of).Interface()
		must(t, oplog.Unpack(want.Bytes(), read))
		must(t, msgpack.Unmarshal(want.Bytes(), decoded))
		if !reflect.DeepEqual(read, decoded) {
			t.Errorf("%T:\n got %+v\nwant %+v", v, read, decoded)
		}
	}
}
