package covenant

import (
	"context"
	"math"
	"slices"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Receipt is what a memory cost, as this protocol shows it. There is no chain behind it: what speaks of one is null.
type Receipt struct {
	ID        string  `json:"id"`
	Payer     AgentID `json:"payer"`
	Resource  string  `json:"resource"`
	Memory    string  `json:"memory_record_id,omitempty"`
	Credits   uint64  `json:"credits_consumed"`
	Settled   uint64  `json:"settled_at"`
	Chain     *string `json:"chain"`
	Cluster   *string `json:"cluster"`
	Batch     *string `json:"batch_id"`
	Root      *string `json:"merkle_root"`
	Tx        *string `json:"tx_sig"`
	OnChain   *string `json:"onchain_sig"`
	Slot      *uint64 `json:"slot"`
	Confirmed *uint64 `json:"confirmed_at"`
}

func recentReceipts(f *fields) action {
	limit, since := f.count("limit", 10), f.optNumber("since_ms")
	return func(ctx context.Context, s *session) (any, error) {
		err := s.gate(ctx, gate{label: "chain:receipts", actions: []string{"chain.receipts"}, missing: `receipt reads require capability "chain.receipts".`,
			allows: func(_ string, sc scope) bool { return sc.limit(limit) },
			reject: "receipt read rejected by capability scope: limit does not match capability scope"})
		if err != nil {
			return nil, err
		}
		out := []Receipt{}
		err = s.srv.view(ctx, "memory", func(v *state.View, db oplog.DB) {
			v.Receipts(db, s.peer.Pubkey, func(r oplog.Receipt) bool {
				if uint64(len(out)) >= min(limit, maxReceipts) || since != nil && toMillis(r.At) < *since {
					return false
				}
				out = append(out, Receipt{ID: r.ID, Payer: s.peer, Resource: r.Resource, Memory: r.Memory, Credits: r.Credits, Settled: toMillis(r.At)})
				return true
			})
		})
		slices.Reverse(out)
		return kit.Object{"kind", "receipts", "receipts", out}, err
	}
}

// maxReceipts is more than any frame holds.
const maxReceipts = math.MaxUint16
