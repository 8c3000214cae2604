package state

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestAStoredRejectionHasNoWords: the rejection that is stored for a forwarded entry names the memory that it met and
// not its key, nor a hash of its text: erasing the memory does not find it. An entry that is sent again is told the
// same nevertheless.
func TestAStoredRejectionHasNoWords(t *testing.T) {
	t.Parallel()
	s := newStepped(t)
	s.apply(1, textOf("m", "/Zyx", 0))
	again := []oplog.Entry{{Node: 1, DB: 1, Key: oplog.ForwardKey + "1", KeyTTL: 1e12, Ops: []oplog.Op{textOf("other", "/Zyx", 0)}}}
	var first, second *oplog.Error
	for _, said := range []**oplog.Error{&first, &second} {
		out, err := s.Apply([]oplog.Record{record(s.Point().Index+1, again)})
		must(t, err)
		*said = out[0].Err
	}
	if first == nil || first.Found == nil || first.Found.Path != "/Zyx" || first.Found.SHA256 == "" || !reflect.DeepEqual(first, second) {
		t.Errorf("the first time %+v, the second %+v", first, second)
	}
	hash := []byte(hashOf("said by m"))
	s.apply(1, &oplog.Purge{RIDs: []string{"m"}, Salt: make([]byte, oplog.MinSalt), At: 9})
	must(t, s.Read(func(v *View) error {
		for k, val := range v.walk(replicated(1), false) {
			if bytes.Contains(val, []byte("Zyx")) || bytes.Contains(k, []byte("Zyx")) || bytes.Contains(val, hash) {
				t.Errorf("left in %s: %q %q", tableNames[tableID(k[4])], k[rowHead:], val)
			}
		}
		return nil
	}))
	out, err := s.Apply([]oplog.Record{record(s.Point().Index+1, again)})
	must(t, err)
	if e := out[0].Err; e == nil || e.Found == nil || e.Found.RID != "m" || e.Found.Path != "" {
		t.Errorf("after the erasure it is told %+v", e)
	}
}
