package index

import (
	"slices"
	"sync/atomic"

	"github.com/cairndb/cairn/oplog"
)

// A sessionName identifies a conversation within a database.
type sessionName struct{ namespace, session string }

// A session is one conversation: the sequence numbers of its memories that have rows. Its content depends on the
// state alone, not on when an index saw memories come, move or go.
type session struct {
	sessionName
	members atomic.Pointer[[]uint64] // ascending; replaced, or extended beyond what a reader sees
	tokens  atomic.Uint64
}

// sums holds the counters of a namespace, or of the whole database.
type sums struct {
	sessions, tokens uint64   // sessions that have rows, and the length of these
	facets           []uint32 // of a namespace, by number
}

// conversations holds the sessions of a database, and the counters by which recall weighs them. database.mu guards
// them.
type conversations struct {
	sessions   []*session // by session number; 0 means none
	sessionIDs map[sessionName]uint32
	namespaces map[string]*sums // by name
	total      sums             // of all namespaces

	moves map[uint32]*sessionMoves // by session
}

// sessionMoves holds the memories that joined a session after later ones, and those that left it, until
// reorderSessions.
type sessionMoves struct{ joined, left []uint64 }

func newConversations() conversations {
	return conversations{sessions: make([]*session, 1), sessionIDs: map[sessionName]uint32{}, namespaces: map[string]*sums{},
		moves: map[uint32]*sessionMoves{}}
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
		s.members.Store(new([]uint64))
		k.sessions = append(k.sessions, s)
	}
	return k.sessions[id], id
}

// setMembers replaces the memories of a session, which counts while it has any.
func (k *conversations) setMembers(s *session, members []uint64) {
	ns := k.namespaces[s.namespace]
	switch hadMembers := len(*s.members.Load()) > 0; {
	case hadMembers && len(members) == 0:
		ns.sessions, k.total.sessions = ns.sessions-1, k.total.sessions-1
	case !hadMembers && len(members) > 0:
		ns.sessions, k.total.sessions = ns.sessions+1, k.total.sessions+1
	}
	s.members.Store(&members)
}

// enterSession adds a memory to a session that it was not in.
func (k *conversations) enterSession(id uint32, seq oplog.Seq) {
	s := k.sessions[id]
	if members := *s.members.Load(); len(members) == 0 || members[len(members)-1] < uint64(seq) {
		k.setMembers(s, append(members, uint64(seq)))
		return
	}
	moves := k.movesOf(id)
	moves.joined = append(moves.joined, uint64(seq))
}

// leaveSession notes that a memory's row left a session; another row of the memory may still be in it.
func (k *conversations) leaveSession(id uint32, seq oplog.Seq) {
	if id != 0 {
		moves := k.movesOf(id)
		moves.left = append(moves.left, uint64(seq))
	}
}

func (k *conversations) movesOf(id uint32) *sessionMoves {
	moves := k.moves[id]
	if moves == nil {
		moves = &sessionMoves{}
		k.moves[id] = moves
	}
	return moves
}

// reorderSessions moves the memories that joined a session late to their places, and removes those that left.
func (d *database) reorderSessions() {
	for id, moves := range d.moves {
		isMember := func(seq uint64) bool {
			row, ok := d.rowOf(oplog.Seq(seq))
			return ok && d.columnAt(row).Session == id
		}
		s := d.sessions[id]
		d.setMembers(s, applyMoves(*s.members.Load(), slices.DeleteFunc(moves.joined, func(seq uint64) bool { return !isMember(seq) }),
			slices.DeleteFunc(moves.left, isMember)))
	}
	clear(d.moves)
}

// sessionsSlack bounds the sessions without rows: as many as sessions with rows, plus this number.
const sessionsSlack = 1000

// freedSession replaces sessions that were freed: dead rows still have their numbers.
var freedSession = func() *session {
	s := &session{}
	s.members.Store(new([]uint64))
	return s
}()

// freeSessions frees the sessions whose rows are all dead. Searches under way have the list as it was.
func (k *conversations) freeSessions() {
	if len(k.sessionIDs) <= 2*int(k.total.sessions)+sessionsSlack {
		return
	}
	k.sessions, k.sessionIDs = slices.Clone(k.sessions), make(map[sessionName]uint32, k.total.sessions)
	for id, s := range k.sessions[1:] {
		if len(*s.members.Load()) > 0 {
			k.sessionIDs[s.sessionName] = uint32(id + 1)
		} else {
			k.sessions[id+1] = freedSession
		}
	}
}

// applyMoves returns an ascending list, with the numbers that came and without those that left.
func applyMoves(members, joined, left []uint64) []uint64 {
	slices.Sort(joined)
	slices.Sort(left)
	joined, left = slices.Compact(joined), slices.Compact(left)
	out := make([]uint64, 0, len(members)+len(joined))
	for _, n := range members {
		for len(joined) > 0 && joined[0] <= n {
			if joined[0] < n {
				out = append(out, joined[0])
			}
			joined = joined[1:]
		}
		for len(left) > 0 && left[0] < n {
			left = left[1:]
		}
		if len(left) == 0 || left[0] != n {
			out = append(out, n)
		}
	}
	return append(out, joined...)
}

// count adds a row's tokens to the counters of its conversation, its namespace and the database. A negated length
// subtracts them.
func (k *conversations) count(c *column, tokens uint64) {
	s := k.sessions[c.Session]
	s.tokens.Add(tokens)
	k.namespaces[s.namespace].tokens += tokens
	k.total.tokens += tokens
}

// narrowStatistics limits the statistics of a question that is bound to namespaces to their rows.
func (in *question) narrowStatistics() {
	if !in.q.Spaces.Bind() || in.q.Namespace != "" {
		return
	}
	var spaces []string
	in.view.EachNamespace(in.db, in.q.Reach(), func(name string, _ oplog.Counts) bool {
		spaces = append(spaces, name)
		return true
	})
	in.totals, in.boundGroups = sums{}, nil
	in.d.mu.RLock()
	defer in.d.mu.RUnlock()
	for _, name := range spaces {
		if ns := in.d.namespaces[name]; ns != nil {
			in.totals.sessions, in.totals.tokens = in.totals.sessions+ns.sessions, in.totals.tokens+ns.tokens
			in.boundGroups = append(in.boundGroups, group(name))
		}
	}
	in.hasRows = len(in.boundGroups) > 0
}

// groups returns the groups of the text index that a question is about; none for all.
func (in *question) groups() []uint32 {
	switch {
	case in.q.Reach().All():
		return nil
	case in.hasRows && in.q.Namespace == "":
		return in.boundGroups
	case in.hasRows:
		return []uint32{group(in.q.Namespace)}
	}
	return []uint32{0} // there are no rows, and no row has group 0
}
