package stringd

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/inbox"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// agent is a record of the registry. Unknown fields of another version are kept.
type agent struct {
	state.Agent
	Created string
	Token   string
	extra   map[string]json.RawMessage
}

// public returns the record for lists, without the token.
func (a agent) public() kit.Object {
	return kit.Object{"id", a.ID, "home", a.Home, "allowedPaths", a.Allowed, "createdAt", a.Created}
}

// MarshalJSON implements json.Marshaler.
func (a agent) MarshalJSON() ([]byte, error) {
	f := a.public()
	if a.Token != "" {
		f = append(f, "webhookToken", a.Token)
	}
	for _, k := range slices.Sorted(maps.Keys(a.extra)) {
		f = append(f, k, a.extra[k])
	}
	return f.MarshalJSON()
}

// UnmarshalJSON implements json.Unmarshaler.
func (a *agent) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &a.extra); err != nil {
		return err
	}
	for k, into := range map[string]any{"id": &a.ID, "home": &a.Home, "allowedPaths": &a.Allowed, "createdAt": &a.Created,
		"webhookToken": &a.Token} {
		if raw, ok := a.extra[k]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return err
			}
			delete(a.extra, k)
		}
	}
	if a.ID == "" || a.Home == "" {
		return errors.New("an agent without id or home")
	}
	a.Allowed = api.OrEmpty(a.Allowed)
	return nil
}

// registry holds the agents in order of registration. A change becomes visible when it is on disk.
type registry struct {
	path string
	keys *seal.Ring // seals the file; nil: it is plain
	mu   sync.RWMutex
	list []agent
}

// openRegistry reads the file. A corrupt file is renamed, and the registry begins empty.
func openRegistry(path string, keys *seal.Ring, log *slog.Logger) (*registry, error) {
	r := &registry{path: path, keys: keys}
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		b, err = keys.Plain(b)
	}
	if err == nil {
		err = json.Unmarshal(b, &r.list)
	}
	switch {
	case err == nil:
		return r, nil
	case errors.Is(err, seal.ErrPlain), errors.Is(err, seal.ErrSealed), errors.Is(err, seal.ErrKey):
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	aside := fmt.Sprintf("%s.corrupt-%d", path, time.Now().UnixMilli())
	log.Warn("agents file is unreadable and was moved aside", "path", path, "aside", aside, "err", err)
	r.list = nil
	return r, os.Rename(path, aside)
}

func (r *registry) get(id string) (agent, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	i := find(r.list, id)
	if i < 0 {
		return agent{}, false
	}
	return r.list[i], true
}

func find(list []agent, id string) int {
	return slices.IndexFunc(list, func(a agent) bool { return a.ID == id })
}

func (r *registry) all() []agent {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.Clone(r.list)
}

// byToken returns the agent of a webhook token. It compares every record in constant time.
func (r *registry) byToken(token string) (found agent, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, a := range r.list {
		if a.Token != "" && subtle.ConstantTimeCompare([]byte(a.Token), []byte(token)) == 1 {
			found, ok = a, true
		}
	}
	return found, ok
}

// change computes a new list from the old one, writes it to disk, and then uses it.
func (r *registry) change(edit func([]agent) []agent) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := edit(append([]agent{}, r.list...)) // an empty list is [] in the file, not null
	var out bytes.Buffer
	if err := json.Indent(&out, kit.MustJSON(next), "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	if err := syncwriter.Replace(r.path, r.keys.Bytes(out.Bytes()), 0o600); err != nil {
		return fmt.Errorf("write agents: %w", err)
	}
	r.list = next
	return nil
}

// put adds an agent or changes one.
func (r *registry) put(id string, edit func(*agent)) (created bool, err error) {
	err = r.change(func(l []agent) []agent {
		i := find(l, id)
		if created = i < 0; created {
			l = append(l, agent{Agent: state.Agent{ID: id, Allowed: []string{}}, Token: newToken(),
				Created: time.Now().UTC().Format(inbox.TimeFormat)})
			i = len(l) - 1
		}
		edit(&l[i])
		return l
	})
	return created, err
}

func (r *registry) remove(id string) (removed bool, err error) {
	if _, ok := r.get(id); !ok {
		return false, nil
	}
	err = r.change(func(l []agent) []agent {
		return slices.DeleteFunc(l, func(a agent) bool { removed = removed || a.ID == id; return a.ID == id })
	})
	return removed && err == nil, err
}

func newToken() string {
	var raw [24]byte
	rand.Read(raw[:]) // never fails
	return "wh_" + base64.RawURLEncoding.EncodeToString(raw[:])
}

// validID reports whether an id can name a directory.
func validID(id string) bool {
	return len(id) <= 128 && id != "." && id != ".." && !strings.ContainsFunc(id, func(c rune) bool {
		return c == '/' || c == '\\' || c < ' ' || c == 0x7f
	})
}
