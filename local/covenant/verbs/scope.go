package verbs

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/local/covenant/canon"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/serve"
)

// selfGrantable reports whether an agent may grant the action to itself. Each agent decides from which agents it
// receives tasks.
func selfGrantable(name string) bool {
	return strings.HasPrefix(name, "a2a.recv.") && len(name) > len("a2a.recv.")
}

// scope narrows a capability. An absent field does not narrow it. A malformed field allows nothing.
type scope struct{ *serve.Fields }

func readScope(raw []byte) scope { return scope{serve.Parse(raw)} }

// matches reports whether a field is absent or equal to a value.
func (s scope) matches(name, value string) bool {
	return serve.ValueOr(s.OptText(name), value) == value && s.Err == nil
}

// atMost reports whether a field is absent or at least n.
func (s scope) atMost(name string, n uint64) bool {
	return n <= serve.ValueOr(s.OptNumber(name), n) && s.Err == nil
}

// allowsTier reports whether a tier is allowed. An empty tier requires all tiers.
func (s scope) allowsTier(tier string) bool {
	if s.Raw("tiers") == nil {
		return s.Err == nil
	}
	allowed := map[string]bool{}
	for _, t := range s.Texts("tiers") {
		allowed[protocol.Tiers[t]] = true
	}
	return s.Err == nil && (tier != "" && allowed[tier] || allowed["working"] && allowed["episodic"] && allowed["longterm"])
}

// allowsChange reports whether the scope allows changes (true) or reads (false). Without the field it allows both.
// allowsRecord decides which records may be read.
func (s scope) allowsChange(change bool) bool {
	if s.Raw("apply") == nil {
		return s.Err == nil
	}
	return s.Flag("apply") == change && s.Err == nil
}

// allowsTime reports whether records of a creation time are allowed.
func (s scope) allowsTime(created uint64) bool {
	end := s.OptNumber("before_ms")
	return s.Err == nil && (end == nil || created < *end)
}

// allowsRecord reports whether a record is allowed.
func (s scope) allowsRecord(id string, created uint64) bool {
	return s.allowsTime(created) && s.matches("record_id", id)
}

// limitsRecords reports whether the scope restricts records, so that allowsRecord may reject one.
func (s scope) limitsRecords() bool { return s.Raw("before_ms") != nil || s.Raw("record_id") != nil }

// allowsCall reports whether a call of a tool is allowed.
func (s scope) allowsCall(name string, arguments json.RawMessage) bool {
	if !s.matches("tool", name) {
		return false
	}
	rule := s.Raw("arguments")
	if rule == nil {
		return true
	}
	f := serve.Parse(rule)
	allow, ok := f.Members["allow"]
	if !ok {
		return f.Err == nil
	}
	want, err1 := canon.JSON(allow)
	got, err2 := canon.JSON(arguments)
	return err1 == nil && err2 == nil && bytes.Equal(want, got)
}

// allowsTask reports whether the scope allows a task with a peer.
func (s scope) allowsTask(peer, task string) bool {
	return s.matches("peer_pubkey_b58", peer) && s.matches("task_id", task)
}
