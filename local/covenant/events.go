package covenant

import (
	"errors"
	"time"

	"github.com/cairndb/cairn/local/kit"
)

var errAudit = errors.New("audit write failed; refusing to proceed")

// record writes an audit row: an object whose type says what happened, with the fields that consumers know.
func (s *Home) record(issuer AgentID, row kit.Object) error {
	return s.told(s.audit.Append(newID(), time.Now(), issuer, row), "audit row not written", errAudit)
}

// told is the error that a client is told in place of one of this node's disk, which is logged.
func (s *Home) told(err error, logged string, told error) error {
	if err == nil {
		return nil
	}
	s.log.Error(logged, "err", err)
	return told
}

func (s *session) record(row kit.Object) error { return s.Home.record(s.peer, row) }

// refuse records a rejection and gives the error for it; without the row the client is told only that.
func (s *session) refuse(row kit.Object, message string) error {
	if err := s.record(row); err != nil {
		return err
	}
	return errors.New(message)
}
