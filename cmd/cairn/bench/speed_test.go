package bench

import (
	"io"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestStoreTimesTheLastTenth: Store times the last tenth of the memories, wherever batches end.
func TestStoreTimesTheLastTenth(t *testing.T) {
	t.Parallel()
	l := &Rig{Streams: &cli.Streams{Out: io.Discard, Err: io.Discard}}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := l.Cluster(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	cl, err := l.Dial(t.Context(), c.Client)
	if err != nil {
		t.Fatal(err)
	}
	const size = storeBatch + storeBatch/5
	rate, err := Store(t.Context(), l.Streams, cl, size, NewGenerator(0).Memory, func([]string) {})
	if err != nil {
		t.Fatal(err)
	}
	if least := rate.All / 1000; rate.First < least || rate.Last < least {
		t.Errorf("%+v: the tenths are no rates of this run", rate)
	}
}
