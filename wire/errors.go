package wire

import "encoding/json"

// Code is an error's number.
type Code uint16

// The codes.
const (
	CodeAuthRequired   Code = 1000
	CodeAuthInvalid    Code = 1001
	CodeDBNotFound     Code = 2000
	CodeDBExists       Code = 2001
	CodeMemoryNotFound Code = 3000
	CodeInvalidPayload Code = 4000
	CodeInternal       Code = 5000
	CodeEmbedding      Code = 5001
	CodeReadonlyNode   Code = 6000
	CodeNotLeader      Code = 6001
	CodeNoQuorum       Code = 6002
	CodeSecretMismatch Code = 6003
	CodeTermMismatch   Code = 6004
)

// Error is the payload of ERROR and of READONLY_ERROR.
type Error struct {
	Code    Code   `wire:"code"`
	Message string `wire:"message"`
	Details JSON   `wire:"details,defaulted"` // an object, or empty for nil
}

// Leader is the content of a READONLY_ERROR's details: the leader to send the write to.
type Leader struct {
	ID   *uint32 `json:"leader_id"`
	Addr *string `json:"leader_addr"` // clients' wire address, host:port
	HTTP *string `json:"leader_http"` // URL
	Term uint64  `json:"term"`
	Lost bool    `json:"no_quorum,omitempty"` // extension: no majority of the voters answers, so no leader is expected soon
}

// Leader returns the details of a READONLY_ERROR; the zero Leader if there are none.
func (m *Error) Leader() (l Leader) {
	if json.Unmarshal(m.Details, &l) != nil {
		return Leader{} // details are optional
	}
	return l
}
