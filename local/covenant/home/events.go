package home

import (
	"errors"
	"time"

	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/kit"
)

var errAudit = errors.New("audit write failed; refusing to proceed")

// Record writes an audit row: an object whose type says what happened, with the fields that consumers know.
func (h *Home) Record(issuer AgentID, row kit.Object) error {
	return h.Told(h.Audit.Append(protocol.NewID(), time.Now(), issuer, row), "audit row not written", errAudit)
}

// Told is the error that a client is told in place of one of this node's disk, which is logged.
func (h *Home) Told(err error, logged string, told error) error {
	if err == nil {
		return nil
	}
	h.Log.Error(logged, "err", err)
	return told
}
