package verbs

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cairndb/cairn/local/covenant/audit"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
)

// errAuditUnreadable is the error that a client gets if this node cannot read its audit files.
var errAuditUnreadable = errors.New("audit: cannot be read")

func recentAudit(f *serve.Fields) Action {
	limit, since, streams := f.Count("limit", 10), serve.ValueOr(f.OptNumber("since_ms"), 0), f.Flag("prefer_stream")
	return func(_ context.Context, s *Session) (any, error) {
		reader, err := s.Audit.Reader()
		if err != nil {
			return nil, errAuditUnreadable
		}
		offsets, err := reader.Last(limit, since, func(e *audit.Event) bool {
			var who struct {
				Pubkey string `json:"pubkey"`
			}
			return json.Unmarshal(e.Issuer, &who) == nil && who.Pubkey == s.Peer.Pubkey
		})
		if err != nil {
			reader.Close()
			return nil, errAuditUnreadable
		}
		return protocol.StreamOrList(&protocol.Stream{Kind: "audit_events", Chunks: func(emit func(any) (bool, error)) error {
			defer reader.Close()
			for _, p := range offsets {
				line, err := reader.At(p)
				if err != nil {
					return errAuditUnreadable
				}
				if more, err := emit(line); err != nil || !more {
					return err
				}
			}
			return nil
		}}, "events", streams)
	}
}

func verifyAuditIntegrity(*serve.Fields) Action {
	return operatorOnly("audit integrity verification requires the operator identity", func(_ context.Context, s *Session) (any, error) {
		r, err := s.Audit.Verify()
		if err != nil {
			return nil, errAuditUnreadable
		}
		return kit.Object{"kind", "audit_integrity", "report", r}, nil
	})
}

func purgeAudit(_ context.Context, s *Session, before uint64) (uint64, error) {
	n, err := s.Audit.Purge(before)
	if err != nil || n == 0 {
		return 0, s.PublicError(err, "audit not purged", errors.New("audit: purge failed"))
	}
	return n, s.record(kit.Object{"type", "audit_purged", "tier", nil, "before_ms", before, "purged", n})
}
