package home

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/local/covenant/journal"
	"github.com/cairndb/cairn/oplog/private"
	atrest "github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Registration is a line of the registry. It registers the hash of a token and its agent, or revokes a token.
type Registration struct {
	Token      string   `json:"token_sha256"`
	Agent      *AgentID `json:"agent_id,omitempty"` // nil: the cluster's operator
	Operator   bool     `json:"operator,omitempty"`
	Registered uint64   `json:"registered_at,omitempty"`
	Revoked    uint64   `json:"revoked_at,omitempty"`
	Prefix     string   `json:"prefix,omitempty"`
}

// RegistryPlace is the associated data of the sealed lines of the registry.
const RegistryPlace = "covenant registry"

// registry holds the tokens of this node. They never leave the node, and only their hashes are on disk.
type registry struct {
	mu   sync.Mutex // guards the fields below; also held while the file is written, so that rows and file agree
	file *journal.Journal[Registration]
	rows []Registration // in order of registration; a revoked row has both times

	enrolling map[string]bool // keys of peers whose enrolment is running
}

func hashToken(token []byte) string {
	h := sha256.Sum256(token)
	return hex.EncodeToString(h[:])
}

func openRegistry(path string, keys *atrest.Ring) (r *registry, err error) {
	r = &registry{enrolling: map[string]bool{}}
	r.file, err = journal.Replay(path, RegistryPlace, keys, func(row Registration) error {
		r.apply(row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *registry) apply(row Registration) {
	if i := r.find(row.Token); i >= 0 && row.Registered == 0 {
		r.rows[i].Revoked = row.Revoked
		return
	}
	r.rows = append(r.rows, row)
}

// find returns the index of a token, or -1. It compares every row in constant time, so that its duration reveals
// nothing about a token.
func (r *registry) find(hash string) int {
	at := -1
	for i := range r.rows {
		if subtle.ConstantTimeCompare([]byte(r.rows[i].Token), []byte(hash)) == 1 {
			at = i
		}
	}
	return at
}

// write appends a row to the file and applies it.
func (r *registry) write(row Registration) error {
	err := r.file.Commit(row)
	if err == nil {
		r.apply(row)
	}
	return err
}

// Resolve returns the registration of a live token.
func (r *registry) Resolve(text string) (Registration, bool) {
	token, ok := decode32(text)
	if !ok {
		return Registration{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(hashToken(token))
	if i < 0 || r.rows[i].Revoked != 0 {
		return Registration{}, false
	}
	return r.rows[i], true
}

// Issue creates and registers a token. A nil agent is the operator.
func (r *registry) Issue(agent *AgentID, now uint64) (string, error) {
	token := make([]byte, 32)
	rand.Read(token) // never fails
	return b58.Encode(token), r.register(token, agent, now)
}

// Claim reserves the key of a peer for an enrolment, until done is called. It fails while another enrolment has the
// key, or while the peer has a live token.
func (r *registry) Claim(key string) (done func(), free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.enrolling[key] ||
		slices.ContainsFunc(r.rows,
			func(row Registration) bool { return row.Revoked == 0 && row.Agent != nil && row.Agent.Pubkey == key }) {
		return nil, false
	}
	r.enrolling[key] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.enrolling, key)
	}, true
}

func (r *registry) register(token []byte, agent *AgentID, now uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.write(Registration{Token: hashToken(token), Agent: agent, Operator: agent == nil, Registered: now,
		Prefix: b58.Encode(token)[:PrefixShown]})
}

// Revoke revokes the live tokens that match selects.
func (r *registry) Revoke(now uint64, match func(Registration) bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range slices.Clone(r.rows) {
		if row.Revoked == 0 && match(row) {
			if err := r.write(Registration{Token: row.Token, Revoked: now}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Purge removes the tokens that were revoked before a time.
func (r *registry) Purge(before uint64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	remaining := slices.DeleteFunc(slices.Clone(r.rows), func(row Registration) bool { return row.Revoked != 0 && row.Revoked < before })
	n := len(r.rows) - len(remaining)
	if n == 0 {
		return 0, nil
	}
	var lines []Registration
	for _, row := range remaining {
		end := Registration{Token: row.Token, Revoked: row.Revoked}
		row.Revoked = 0
		if lines = append(lines, row); end.Revoked != 0 {
			lines = append(lines, end)
		}
	}
	if err := r.file.Replace(lines...); err != nil {
		return 0, err
	}
	r.rows = remaining
	return n, nil
}

// List returns all registrations, newest last.
func (r *registry) List() []Registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows)
}

// operatorToken ensures that the file holds a live token of the operator. It rejects a file that other users can
// read, because the token is the only credential of a client.
func (r *registry) operatorToken(path string, now uint64) error {
	raw, err := private.Read(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := strings.TrimSpace(string(raw))
	if _, ok := r.Resolve(text); ok {
		return nil
	}
	token, ok := decode32(text)
	r.mu.Lock()
	known := ok && r.find(hashToken(token)) >= 0
	r.mu.Unlock()
	if ok && !known {
		return r.register(token, nil, now)
	}
	_, err = r.Rotate(path, now) // the file has no token, or a revoked one
	return err
}

// Rotate gives the operator a new token. It registers it, writes it to the file, and then revokes the old ones, so
// that the file holds a live token after a crash at any point.
func (r *registry) Rotate(path string, now uint64) (string, error) {
	old := map[string]bool{}
	for _, row := range r.List() {
		old[row.Token] = row.Operator && row.Revoked == 0
	}
	text, err := r.Issue(nil, now)
	if err != nil {
		return "", err
	}
	if err := syncwriter.Replace(path, []byte(text+"\n"), 0o600); err != nil {
		return "", err
	}
	return text, r.Revoke(now, func(row Registration) bool { return old[row.Token] })
}

// HasPrefix reports whether a text is the whole token, or a prefix of the part that is stored.
func (row Registration) HasPrefix(text string) bool {
	if token, ok := decode32(text); ok {
		return row.Token == hashToken(token)
	}
	return strings.HasPrefix(row.Prefix, text)
}

// decode32 decodes base58 of 32 bytes, a token or a key.
func decode32(text string) ([]byte, bool) {
	b, err := b58.Decode(text)
	return b, err == nil && len(b) == 32
}

// IsToken reports whether a text has the form of a token.
func IsToken(text string) bool {
	_, ok := decode32(text)
	return ok
}

// PrefixShown is the number of characters of a token that are stored and shown.
const PrefixShown = 6
