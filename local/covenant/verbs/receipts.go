package verbs

import (
	"context"
	"math"
	"slices"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func recentReceipts(f *serve.Fields) Action {
	limit, since := f.Count("limit", 10), serve.ValueOr(f.OptNumber("since_ms"), 0)
	return requireGate(gate{label: "chain:receipts", actions: []string{"chain.receipts"},
		missing: `receipt reads require capability "chain.receipts".`,
		allows:  func(sc scope) bool { return sc.atMost("limit", limit) },
		reject:  "receipt read rejected by capability scope: limit does not match capability scope",
	}, func(ctx context.Context, s *Session) (any, error) {
		a, err := home.Read(ctx, s.Home, "memory", api.Receipts,
			&api.ReceiptsRequest{Payer: s.Peer.Pubkey, Since: toMicros(since), Limit: min(limit, maxReceipts)})
		if err != nil {
			return nil, err
		}
		slices.Reverse(a.Receipts)
		return kit.Object{"kind", "receipts", "receipts", api.Each(a.Receipts, s.showReceipt)}, nil
	})
}

// recentDebits lists what agents were charged against a budget. The list is always empty, because this server runs no
// agents. The costs of intents are in the receipts.
func recentDebits(f *serve.Fields) Action {
	f.Count("limit", 10)
	return constant(kit.Object{"kind", "debits", "debits", []kit.Object{}})(f)
}

// showReceipt formats the cost of a memory. There is no chain behind it, so the fields about a chain are null.
func (s *Session) showReceipt(r oplog.Receipt) kit.Object {
	o := kit.Object{"id", r.ID, "payer", s.Peer, "resource", r.Resource}
	if r.Memory != "" {
		o = append(o, "memory_record_id", r.Memory)
	}
	o = append(o, "credits_consumed", r.Credits, "settled_at", home.ToMillis(r.At))
	for _, name := range []string{"chain", "cluster", "batch_id", "merkle_root", "tx_sig", "onchain_sig", "slot", "confirmed_at"} {
		o = append(o, name, nil)
	}
	return o
}

// maxReceipts bounds an answer. It is more than a frame can hold.
const maxReceipts = math.MaxUint16
