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

// Registration is a line of the registry: a token's hash and whose it is, or the end of one.
type Registration struct {
	Token      string   `json:"token_sha256"`
	Agent      *AgentID `json:"agent_id,omitempty"` // nil is the cluster's operator
	Operator   bool     `json:"operator,omitempty"`
	Registered uint64   `json:"registered_at,omitempty"`
	Revoked    uint64   `json:"revoked_at,omitempty"`
	Prefix     string   `json:"prefix,omitempty"`
}

// RegistryPlace is the place that the registry's lines are sealed for.
const RegistryPlace = "covenant registry"

// registry is this node's tokens. They never leave it; only their hashes are on disk.
type registry struct {
	mu   sync.Mutex // of all below; held while the file is written, so that rows and file agree
	file *journal.Journal[Registration]
	rows []Registration // by registration; a revoked one has both times

	claimed map[string]bool // keys of peers that are being enrolled
}

func hashToken(token []byte) string {
	h := sha256.Sum256(token)
	return hex.EncodeToString(h[:])
}

func openRegistry(path string, keys *atrest.Ring) (r *registry, err error) {
	r = &registry{claimed: map[string]bool{}}
	r.file, err = journal.Replay(path, RegistryPlace, keys, func(row Registration) error {
		r.enter(row)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *registry) enter(row Registration) {
	if i := r.find(row.Token); i >= 0 && row.Registered == 0 {
		r.rows[i].Revoked = row.Revoked
		return
	}
	r.rows = append(r.rows, row)
}

// find looks at every row, so that the time it takes says nothing of how much of a token was right.
func (r *registry) find(hash string) int {
	at := -1
	for i := range r.rows {
		if subtle.ConstantTimeCompare([]byte(r.rows[i].Token), []byte(hash)) == 1 {
			at = i
		}
	}
	return at
}

// write appends a row to the file and enters it.
func (r *registry) write(row Registration) error {
	err := r.file.Commit(row)
	if err == nil {
		r.enter(row)
	}
	return err
}

// Resolve finds whose a live token is.
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

// Issue makes a token and registers it; agent nil is the operator.
func (r *registry) Issue(agent *AgentID, now uint64) (string, error) {
	token := make([]byte, 32)
	rand.Read(token) // never fails
	return b58.Encode(token), r.register(token, agent, now)
}

// Claim takes the key of a peer for an enrolment, until done is called. It is not free while another enrolment has it,
// or while the peer has a token.
func (r *registry) Claim(key string) (done func(), free bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.claimed[key] ||
		slices.ContainsFunc(r.rows,
			func(row Registration) bool { return row.Revoked == 0 && row.Agent != nil && row.Agent.Pubkey == key }) {
		return nil, false
	}
	r.claimed[key] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.claimed, key)
	}, true
}

func (r *registry) register(token []byte, agent *AgentID, now uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.write(Registration{Token: hashToken(token), Agent: agent, Operator: agent == nil, Registered: now,
		Prefix: b58.Encode(token)[:PrefixShown]})
}

// Revoke ends the live tokens that which picks.
func (r *registry) Revoke(now uint64, which func(Registration) bool) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range slices.Clone(r.rows) {
		if row.Revoked == 0 && which(row) {
			if err := r.write(Registration{Token: row.Token, Revoked: now}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Purge drops tokens that were revoked before a time.
func (r *registry) Purge(before uint64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := slices.DeleteFunc(slices.Clone(r.rows), func(row Registration) bool { return row.Revoked != 0 && row.Revoked < before })
	n := len(r.rows) - len(rest)
	if n == 0 {
		return 0, nil
	}
	var lines []Registration
	for _, row := range rest {
		end := Registration{Token: row.Token, Revoked: row.Revoked}
		row.Revoked = 0
		if lines = append(lines, row); end.Revoked != 0 {
			lines = append(lines, end)
		}
	}
	if err := r.file.Replace(lines...); err != nil {
		return 0, err
	}
	r.rows = rest
	return n, nil
}

// List returns all registrations, the newest last.
func (r *registry) List() []Registration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows)
}

// operatorToken reads the operator's token, or makes one. A file that others could read stops the start: the token is
// all that a client shows.
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
	_, err = r.Rotate(path, now) // none, or a revoked one: a rotation was cut short after the old token's end
	return err
}

// Rotate makes the operator a new token: registered first, then written, then the old ones end. A crash on the way
// leaves a token that works.
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

// Begins reports whether a text is the token, or a beginning of the prefix that is stored.
func (row Registration) Begins(text string) bool {
	if token, ok := decode32(text); ok {
		return row.Token == hashToken(token)
	}
	return strings.HasPrefix(row.Prefix, text)
}

// decode32 reads base58 of 32 bytes: a token or a key.
func decode32(text string) ([]byte, bool) {
	b, err := b58.Decode(text)
	return b, err == nil && len(b) == 32
}

// IsToken reports whether a text has the form of a token.
func IsToken(text string) bool {
	_, ok := decode32(text)
	return ok
}

// PrefixShown is the number of characters of a token that are shown, and kept.
const PrefixShown = 6
