// Package protocol has the forms that Covenant's requests and answers share: tiers, ids, errors, and answers in pieces
// (Stream). It knows no request.
package protocol

import (
	"github.com/google/uuid"

	"github.com/cairndb/cairn/local/serve"
)

// Tiers are the spellings that are understood, and the one that is written.
var Tiers = map[string]string{"working": "working", "episodic": "episodic", "longterm": "longterm", "long-term": "longterm",
	"long_term": "longterm"}

// Tier is an optional tier; empty for none.
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

// ID is a required UUID.
func ID(f *serve.Fields, name string) string { return serve.Need(f, name, OptID(f, name)) }

// OptID is an optional UUID in any usual spelling; it comes out in one.
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

// NewID makes an id that cannot be guessed from its neighbours.
func NewID() string { return uuid.NewString() }
