package oplog

import (
	"encoding/json"
	"strings"
)

// Words returns the text that a memory is found by: its own text, with the intent it answers when the text does not
// repeat it, or with the words of the event it sums up.
func (m *Memory) Words() string {
	if more := m.eventWords(); more != "" {
		return m.Text + "\n" + more
	}
	if m.Namespace != CovenantNamespace || len(m.Metadata) == 0 {
		return m.Text
	}
	if intent := m.Intent(); intent != "" && !strings.Contains(m.Text, intent) {
		return m.Text + "\n" + intent
	}
	return m.Text
}

// Weight is about how many bytes the memory takes in an answer.
func (m *Memory) Weight() int { return 512 + len(m.Text) + len(m.Metadata) }

// Intent is the text a memory was made from; empty when it was not made from one.
func (m *Memory) Intent() string {
	var meta struct {
		Intent string `json:"intent_text"`
	}
	if m.Namespace != CovenantNamespace || json.Unmarshal(m.Metadata, &meta) != nil {
		return ""
	}
	return meta.Intent
}

// CovenantNamespace holds what that protocol's clients write.
const CovenantNamespace = "covenant"

// EventPrefix begins the namespaces of events' summaries.
const EventPrefix = "sift/"

// eventWords are the words of an event that its summary leaves out, as its metadata names them.
func (m *Memory) eventWords() string {
	if !strings.HasPrefix(m.Namespace, EventPrefix) || len(m.Metadata) == 0 {
		return ""
	}
	var meta struct {
		Sift struct {
			Words string `json:"words"`
		} `json:"sift"`
	}
	_ = json.Unmarshal(m.Metadata, &meta) // what is no such metadata names no words
	return meta.Sift.Words
}
