package operate

import (
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/damage"
)

// TestAgreementIsOfWhatIsThere checks that equal hashes count as agreement, unless a member has damaged rows.
func TestAgreementIsOfWhatIsThere(t *testing.T) {
	t.Parallel()
	whole := api.Vitals{SumIndex: 7, Sum: "a"}
	altered := whole
	altered.Damaged = []api.Damage{{Kind: damage.State}}
	for _, c := range []struct {
		own, peer api.Vitals
		want      string
	}{
		{whole, whole, "agree"},
		{whole, altered, "unknown"},
		{altered, whole, "unknown"},
		{whole, api.Vitals{SumIndex: 7, Sum: "b"}, "diverged"},
		{whole, api.Vitals{SumIndex: 8, Sum: "b"}, "unknown"},
	} {
		st := api.ClusterStatus{Vitals: c.own, Peers: []api.Peer{{Reachable: true, Vitals: c.peer}}}
		if got := agreement(st); got != c.want {
			t.Errorf("%+v beside %+v: %s, want %s", c.own, c.peer, got, c.want)
		}
	}
}
