package node

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog/state"
)

// TestAFailedSecondReadProvesNothing checks that a row with a failed read counts as intact only if a second read
// succeeds.
func TestAFailedSecondReadProvesNothing(t *testing.T) {
	t.Parallel()
	wrong, broken := fmt.Errorf("%w: a sum differs", state.ErrState), fmt.Errorf("read: %w", syscall.EIO)
	for _, c := range []struct {
		first, second error
		want          finding
	}{
		{nil, broken, intact},
		{wrong, nil, misread},
		{wrong, wrong, damaged},
		{wrong, broken, unknown},
		{wrong, errors.Join(broken, wrong), damaged},
		{broken, nil, unknown},
	} {
		if got := verdict(c.first, func() error { return c.second }); got != c.want {
			t.Errorf("%v, then %v: %d, want %d", c.first, c.second, got, c.want)
		}
	}
}
