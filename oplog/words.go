package oplog

import (
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/oplog/filter"
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

// Weight returns about how many bytes the memory takes in an answer.
func (m *Memory) Weight() int { return 512 + len(m.Text) + len(m.Metadata) + len(m.Attributes) }

// Passes reports whether the memory passes a filter; nil lets all pass.
func (m *Memory) Passes(f *filter.Filter) bool {
	if f == nil {
		return true
	}
	attributes, _ := filter.Attributes(m.Attributes) // they were checked before they were stored
	return f.Match(func(name string) filter.Value {
		for i := range attributes {
			if attributes[i].Name == name {
				return attributes[i].Value
			}
		}
		switch name {
		case "@memory_type":
			return filter.TextOrNone(m.Type)
		case "@namespace":
			return filter.TextOrNone(m.Namespace)
		case "@domain":
			return filter.TextOrNone(m.Domain)
		case "@source":
			return filter.TextOrNone(m.Source)
		case "@session_id":
			return filter.TextOrNone(m.Session)
		case "@tier":
			return filter.TextOrNone(m.Tier)
		case "@writer":
			return filter.TextOrNone(m.Writer)
		case "@dialect":
			return filter.TextOrNone(m.Dialect)
		case "@agent":
			return filter.TextOrNone(m.Agent)
		case "@trust":
			return filter.TextOrNone(TrustOf(m.Trust))
		case "@created_at":
			return filter.Time(int64(m.Created))
		case "@updated_at":
			return filter.Time(int64(m.Updated))
		case "@importance":
			return filter.Number(m.Importance)
		}
		return filter.Value{}
	})
}

// Intent returns the intent text that a covenant memory was made from; empty for others.
func (m *Memory) Intent() string {
	var meta struct {
		Intent string `json:"intent_text"`
	}
	if m.Namespace != CovenantNamespace || json.Unmarshal(m.Metadata, &meta) != nil {
		return ""
	}
	return meta.Intent
}

// Namespaces that hold what the clients of one protocol write.
const (
	CovenantNamespace = "covenant"
	Mem0Namespace     = "mem0" // of many users, each of which sees its own
)

// EventPrefix begins the namespaces of events' summaries.
const EventPrefix = "sift/"

// eventWords returns the words of an event that its summary leaves out, which the metadata holds.
func (m *Memory) eventWords() string {
	if !strings.HasPrefix(m.Namespace, EventPrefix) || len(m.Metadata) == 0 {
		return ""
	}
	var meta struct {
		Sift struct {
			Words string `json:"words"`
		} `json:"sift"`
	}
	_ = json.Unmarshal(m.Metadata, &meta) // other metadata has no words
	return meta.Sift.Words
}
