package commit

import (
	"reflect"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestForwardedOutcome: an outcome comes back from the leader as it was.
func TestForwardedOutcome(t *testing.T) {
	for _, want := range []forwarded{
		{},
		{Index: 1 << 40, Results: []oplog.Result{{ID: "m", Num: 7, Changed: true}, {Session: &oplog.SessionSummary{ID: "s"}}}, Replayed: true},
		{Index: 7, Err: oplog.ErrKeyReused},
	} {
		var got forwarded
		if err := oplog.Unpack(oplog.Pack(nil, &want), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v came back as %+v (%v)", want, got, err)
		}
	}
	if err := oplog.Unpack([]byte("\x81\xa1e\x01"), new(forwarded)); err == nil {
		t.Error("a number is read as a refusal")
	}
}
