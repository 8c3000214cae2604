package home

import (
	"errors"
	"regexp"

	"github.com/google/uuid"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/local/serve"
)

// AgentID is an identity: a display name and a public key. Identities with the same key are the same.
type AgentID struct {
	Display string `json:"display"`
	Pubkey  string `json:"pubkey"` // base58 of 32 bytes
}

// Same reports whether both have the same key.
func (a AgentID) Same(b AgentID) bool { return a.Pubkey == b.Pubkey }

// UnmarshalJSON accepts well-formed identities only, and normalizes the spelling of the key.
func (a *AgentID) UnmarshalJSON(raw []byte) error {
	f := serve.Parse(raw)
	display, key := f.Text("display"), f.Text("pubkey")
	if f.Err != nil {
		return f.Err
	}
	if !IsDisplay(display) {
		return errors.New("display is not local@host")
	}
	b, ok := decode32(key)
	if !ok {
		return errors.New("pubkey is not 32 bytes of base58")
	}
	*a = AgentID{display, b58.Encode(b)}
	return nil
}

var displayPattern = regexp.MustCompile(`^[A-Za-z0-9_.-]+@[A-Za-z0-9_.-]+$`)

// IsDisplay reports whether a text is a valid display name, local@host.
func IsDisplay(s string) bool { return len(s) <= 256 && displayPattern.MatchString(s) }

// StableID maps the id of a record of another protocol to a UUID, always to the same one. same is true if the id is a
// UUID already.
func StableID(rid string) (id string, same bool) {
	if u, err := uuid.Parse(rid); err == nil {
		return u.String(), u.String() == rid
	}
	return uuid.NewSHA1(uuid.NameSpaceOID, []byte("cairn/"+rid)).String(), false
}

// ReadAgent reads a required identity.
func ReadAgent(f *serve.Fields, name string) AgentID {
	return serve.Required(f, name, serve.Optional[AgentID](f, name, ""))
}
