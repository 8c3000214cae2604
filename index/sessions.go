package index

import (
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

// A sessionName identifies a conversation within a database.
type sessionName struct{ namespace, session string }

// A session is the rows of one conversation in the order they were stored.
type session struct {
	sessionName
	rows   atomic.Pointer[[]uint32] // replaced, or grown beyond what a reader sees
	tokens atomic.Uint64
	capturing
}

// sums are the counters of a namespace, or of the whole database.
type sums struct {
	sessions, tokens uint64   // of rows that belong to a session
	facets           []uint32 // of a namespace, by number
}

// conversations are the sessions of a database, and the counters by which recall weighs them. database.mu guards them.
type conversations struct {
	sessions   []*session // by session number; 0 is none
	sessionIDs map[sessionName]uint32
	namespaces map[string]*sums // by name
	total      sums             // of all namespaces
}

func newConversations() conversations {
	return conversations{sessions: make([]*session, 1), sessionIDs: map[sessionName]uint32{}, namespaces: map[string]*sums{}}
}

// namespace returns a namespace's counters and makes them for its first row.
func (k *conversations) namespace(name string) *sums {
	ns := k.namespaces[name]
	if ns == nil {
		ns = &sums{}
		k.namespaces[name] = ns
	}
	return ns
}

// session returns a conversation and its number, and creates it for its first row.
func (k *conversations) session(namespace, name string) (*session, uint32) {
	key := sessionName{namespace, name}
	id, ok := k.sessionIDs[key]
	if !ok {
		id = uint32(len(k.sessions))
		k.sessionIDs[key] = id
		s := &session{sessionName: key}
		s.rows.Store(new([]uint32))
		k.sessions = append(k.sessions, s)
		k.namespaces[namespace].sessions++
		k.total.sessions++
	}
	return k.sessions[id], id
}

// count adds tokens of a row to the counters of its conversation, its namespace and the database; minus a length
// takes it away.
func (k *conversations) count(c *column, tokens uint64) {
	s := k.sessions[c.Session]
	s.tokens.Add(tokens)
	k.namespaces[s.namespace].tokens += tokens
	k.total.tokens += tokens
}

// narrow has the statistics of a question that is bound to namespaces be those of their rows.
func (in *question) narrow() {
	if !in.q.Spaces.Bind() || in.q.Namespace != "" {
		return
	}
	var spaces []string
	in.view.EachNamespace(in.db, in.q.Reach(), func(name string, _ oplog.Counts) bool {
		spaces = append(spaces, name)
		return true
	})
	in.named, in.narrowed = sums{}, nil
	in.d.mu.RLock()
	defer in.d.mu.RUnlock()
	for _, name := range spaces {
		if ns := in.d.namespaces[name]; ns != nil {
			in.named.sessions, in.named.tokens = in.named.sessions+ns.sessions, in.named.tokens+ns.tokens
			in.narrowed = append(in.narrowed, group(name))
		}
	}
	in.known = len(in.narrowed) > 0
}

// groups returns the groups of the text index that a question is about; none for all.
func (in *question) groups() []uint32 {
	switch {
	case in.q.Reach().All():
		return nil
	case in.known && in.q.Namespace == "":
		return in.narrowed
	case in.known:
		return []uint32{group(in.q.Namespace)}
	}
	return []uint32{0} // there are no rows, and no row has group 0
}
