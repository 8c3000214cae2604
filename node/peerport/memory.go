package peerport

import (
	"encoding/json"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// A peerMemory is the payload of a record operation, pulled or pushed. Peers of other makes know the fields up to emotional_state.
type peerMemory struct {
	RID        string          `json:"rid"`
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Importance float64         `json:"importance"`
	Valence    float64         `json:"valence"`
	HalfLife   float64         `json:"half_life"` // seconds
	Metadata   json.RawMessage `json:"metadata" empty:"null"`
	Created    float64         `json:"created_at"`
	Updated    float64         `json:"updated_at"`
	Namespace  string          `json:"namespace"`
	Certainty  float64         `json:"certainty"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Emotion    *string         `json:"emotional_state"`

	Session      string   `json:"session_id,omitempty"`
	Due          *float64 `json:"due_at,omitempty"`
	TemporalKind string   `json:"temporal_kind,omitempty"`
	Tier         string   `json:"tier,omitempty"`
	Owner        string   `json:"owner,omitempty"`
	Speaker      string   `json:"speaker,omitempty"`
}

var (
	pullMemory = api.Carry[oplog.Content, peerMemory]()
	pushMemory = api.Carry[peerMemory, api.Draft]()
)
