package verbs

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/local/covenant/canon"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/serve"
)

// ownGrant reports whether an identity may grant an action to itself: whom an agent receives from is its own to
// allow.
func ownGrant(name string) bool {
	return strings.HasPrefix(name, "a2a.recv.") && len(name) > len("a2a.recv.")
}

// A scope narrows a capability. A field that it does not name narrows nothing; a field of the wrong form allows
// nothing.
type scope struct{ *serve.Fields }

func readScope(raw []byte) scope { return scope{serve.Parse(raw)} }

// is reports whether a field, if there is one, has a value.
func (s scope) is(name, value string) bool {
	return serve.Or(s.OptText(name), value) == value && s.Err == nil
}

// atMost reports whether a number is within a field's, if there is one.
func (s scope) atMost(name string, n uint64) bool {
	return n <= serve.Or(s.OptNumber(name), n) && s.Err == nil
}

// tiers reports whether a tier is allowed, or, without one, every tier.
func (s scope) tiers(tier string) bool {
	if s.Raw("tiers") == nil {
		return s.Err == nil
	}
	allowed := map[string]bool{}
	for _, t := range s.Texts("tiers") {
		allowed[protocol.Tiers[t]] = true
	}
	return s.Err == nil && (tier != "" && allowed[tier] || allowed["working"] && allowed["episodic"] && allowed["longterm"])
}

// apply reports whether the scope is for changing (true) or for reading (false); absent is for both. Which records
// may be read is for admits.
func (s scope) apply(change bool) bool {
	if s.Raw("apply") == nil {
		return s.Err == nil
	}
	return s.Flag("apply") == change && s.Err == nil
}

// before reports whether records of a time may be seen.
func (s scope) before(created uint64) bool {
	end := s.OptNumber("before_ms")
	return s.Err == nil && (end == nil || created < *end)
}

// admits reports whether a record may be seen.
func (s scope) admits(id string, created uint64) bool {
	return s.before(created) && s.is("record_id", id)
}

// narrow reports whether there is anything for admits to look at.
func (s scope) narrow() bool { return s.Raw("before_ms") != nil || s.Raw("record_id") != nil }

// tool reports whether a call is allowed.
func (s scope) tool(name string, arguments json.RawMessage) bool {
	if !s.is("tool", name) {
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

// task reports whether dealing with a peer about a task is allowed.
func (s scope) task(peer, task string) bool {
	return s.is("peer_pubkey_b58", peer) && s.is("task_id", task)
}
