// Package protocol holds types that Covenant's requests and answers share: tiers, ids, errors, and answers in several
// frames (Stream).
package protocol

import (
	"github.com/google/uuid"

	"github.com/cairndb/cairn/local/serve"
)

// Tiers maps the accepted spellings of a tier to the canonical one.
var Tiers = map[string]string{"working": "working", "episodic": "episodic", "longterm": "longterm", "long-term": "longterm",
	"long_term": "longterm"}

// Tier reads an optional tier. It returns "" if the field is absent.
func Tier(f *serve.Fields, name string) string {
	s := f.OptText(name)
	if s == nil {
		return ""
	}
	t, ok := Tiers[*s]
	if !ok {
		f.Fail(name, "not a tier")
	}
	return t
}

// ID reads a required UUID.
func ID(f *serve.Fields, name string) string { return serve.Required(f, name, OptID(f, name)) }

// OptID reads an optional UUID in any usual spelling and returns the canonical one.
func OptID(f *serve.Fields, name string) *string {
	s := f.OptText(name)
	if s == nil {
		return nil
	}
	id, err := uuid.Parse(*s)
	if err != nil {
		f.Fail(name, "not a uuid")
	}
	return new(id.String())
}

// NewID returns a random UUID.
func NewID() string { return uuid.NewString() }
