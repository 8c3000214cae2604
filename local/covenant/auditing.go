package covenant

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/local/covenant/audit"
)

type eventsFrame struct {
	Kind   string            `json:"kind"`
	Events []json.RawMessage `json:"events"`
}

func recentAudit(f *fields) action {
	limit, since, streams := f.count("limit", 10), f.optNumber("since_ms"), f.flag("prefer_stream")
	return func(_ context.Context, s *session) any {
		from := uint64(0)
		if since != nil {
			from = *since
		}
		reader, err := s.srv.audit.Reader()
		if err != nil {
			return fault("audit: cannot be read")
		}
		places, err := reader.Last(limit, from, func(e *audit.Event) bool {
			var who struct {
				Pubkey string `json:"pubkey"`
			}
			return json.Unmarshal(e.Issuer, &who) == nil && who.Pubkey == s.peer.Pubkey
		})
		if err != nil {
			reader.Close()
			return fault("audit: cannot be read")
		}
		if streams {
			return &stream{kind: "audit_events", chunks: func(emit func(any) (bool, error)) error {
				defer reader.Close()
				return eachEvent(reader, places, emit)
			}}
		}
		defer reader.Close()
		out := eventsFrame{"audit_events", []json.RawMessage{}}
		size := 0
		err = eachEvent(reader, places, func(v any) (bool, error) {
			e := v.(json.RawMessage)
			out.Events = append(out.Events, e)
			size += len(e)
			return size <= 2*MaxFrame, nil
		})
		if err != nil {
			return fault("audit: cannot be read")
		}
		return out
	}
}

func eachEvent(r *audit.Reader, places []audit.Place, emit func(any) (bool, error)) error {
	for _, p := range places {
		line, err := r.At(p)
		if err != nil {
			return err
		}
		if more, err := emit(line); err != nil || !more {
			return err
		}
	}
	return nil
}

type integrityFrame struct {
	Kind   string       `json:"kind"`
	Report audit.Report `json:"report"`
}

func verifyAuditIntegrity(*fields) action {
	return func(_ context.Context, s *session) any {
		if !s.isOperator() {
			return fault("audit integrity verification requires the operator identity")
		}
		r, err := s.srv.audit.Verify()
		if err != nil {
			return fault("audit: cannot be read")
		}
		return integrityFrame{"audit_integrity", r}
	}
}

func purgeAudit(f *fields) action {
	before := f.number("before_ms")
	return func(ctx context.Context, s *session) any {
		if refusal := s.gate(ctx, cutoffGate("audit", before)); refusal != nil {
			return refusal
		}
		n, err := s.srv.audit.Purge(before)
		if err != nil {
			s.srv.log.Error("audit not purged", "err", err)
			return fault("audit: purge failed")
		}
		if n > 0 && s.srv.record(s.peer, purgeDone{Type: "audit_purged", Before: before, Purged: n}) != nil {
			return fault(textAudit)
		}
		return purgedFrame{"audit_purged", n}
	}
}
