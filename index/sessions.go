package index

import (
	"slices"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

// A sessionName identifies a conversation within a database.
type sessionName struct{ namespace, session string }

// A session is one conversation: its memories that have rows, by their sequence numbers. What it has follows from the
// state alone, whenever an index saw the memories come, move or go.
type session struct {
	sessionName
	line   atomic.Pointer[[]uint64] // ascending; replaced, or grown beyond what a reader sees
	tokens atomic.Uint64
}

// sums are the counters of a namespace, or of the whole database.
type sums struct {
	sessions, tokens uint64   // sessions that have rows, and the length of these
	facets           []uint32 // of a namespace, by number
}

// conversations are the sessions of a database, and the counters by which recall weighs them. database.mu guards them.
type conversations struct {
	sessions   []*session // by session number; 0 is none
	sessionIDs map[sessionName]uint32
	namespaces map[string]*sums // by name
	total      sums             // of all namespaces

	unsettled map[uint32]*unsettled // by session
}

// unsettled are the memories that came to a session behind later ones, and those that left it, until settle.
type unsettled struct{ came, left []uint64 }

func newConversations() conversations {
	return conversations{sessions: make([]*session, 1), sessionIDs: map[sessionName]uint32{}, namespaces: map[string]*sums{},
		unsettled: map[uint32]*unsettled{}}
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
		s.line.Store(new([]uint64))
		k.sessions = append(k.sessions, s)
	}
	return k.sessions[id], id
}

// setLine replaces the memories of a session, which counts while it has any.
func (k *conversations) setLine(s *session, line []uint64) {
	ns := k.namespaces[s.namespace]
	switch had := len(*s.line.Load()) > 0; {
	case had && len(line) == 0:
		ns.sessions, k.total.sessions = ns.sessions-1, k.total.sessions-1
	case !had && len(line) > 0:
		ns.sessions, k.total.sessions = ns.sessions+1, k.total.sessions+1
	}
	s.line.Store(&line)
}

// enterSession adds a memory to a session that it was not in.
func (k *conversations) enterSession(id uint32, seq oplog.Seq) {
	s := k.sessions[id]
	if line := *s.line.Load(); len(line) == 0 || line[len(line)-1] < uint64(seq) {
		k.setLine(s, append(line, uint64(seq)))
		return
	}
	u := k.unsettledOf(id)
	u.came = append(u.came, uint64(seq))
}

// leaveSession notes that a memory's row is in a session no more; another row of the memory may be.
func (k *conversations) leaveSession(id uint32, seq oplog.Seq) {
	if id != 0 {
		u := k.unsettledOf(id)
		u.left = append(u.left, uint64(seq))
	}
}

func (k *conversations) unsettledOf(id uint32) *unsettled {
	u := k.unsettled[id]
	if u == nil {
		u = &unsettled{}
		k.unsettled[id] = u
	}
	return u
}

// settle puts the memories that came to a session behind later ones in their places, and takes those out that left.
func (d *database) settle() {
	for id, u := range d.unsettled {
		in := func(seq uint64) bool {
			row, ok := d.rowOf(oplog.Seq(seq))
			return ok && d.at(row).Session == id
		}
		s := d.sessions[id]
		d.setLine(s, moved(*s.line.Load(), slices.DeleteFunc(u.came, func(seq uint64) bool { return !in(seq) }),
			slices.DeleteFunc(u.left, in)))
	}
	clear(d.unsettled)
}

// sessionsSlack bounds the sessions that have no rows any more: as many as of those that have, and so many more.
const sessionsSlack = 1000

// lostSession is in the place of the sessions that were let go: dead rows have their numbers still.
var lostSession = func() *session {
	s := &session{}
	s.line.Store(new([]uint64))
	return s
}()

// letSessionsGo frees the sessions whose rows are all dead. Searches under way have the list as it was.
func (k *conversations) letSessionsGo() {
	if len(k.sessionIDs) <= 2*int(k.total.sessions)+sessionsSlack {
		return
	}
	k.sessions, k.sessionIDs = slices.Clone(k.sessions), make(map[sessionName]uint32, k.total.sessions)
	for id, s := range k.sessions[1:] {
		if len(*s.line.Load()) > 0 {
			k.sessionIDs[s.sessionName] = uint32(id + 1)
		} else {
			k.sessions[id+1] = lostSession
		}
	}
}

// moved is an ascending list with what came and without what left.
func moved(line, came, left []uint64) []uint64 {
	slices.Sort(came)
	slices.Sort(left)
	came, left = slices.Compact(came), slices.Compact(left)
	out := make([]uint64, 0, len(line)+len(came))
	for _, n := range line {
		for len(came) > 0 && came[0] <= n {
			if came[0] < n {
				out = append(out, came[0])
			}
			came = came[1:]
		}
		for len(left) > 0 && left[0] < n {
			left = left[1:]
		}
		if len(left) == 0 || left[0] != n {
			out = append(out, n)
		}
	}
	return append(out, came...)
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
