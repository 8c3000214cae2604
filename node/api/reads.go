package api

import (
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// The dialects of this host read these in addition to what every surface reads. An answer holds plain data of the
// caller's database, all of one moment. No surface offers the rows, and they cost nothing.
var (
	Await = row[AwaitRequest, Nothing](Op{Name: "await", Bound: Free,
		Does: "Wait until this node is as fresh as a request requires.", Scope: Read, Cost: free})

	EdgesOf = row[EdgesOfRequest, EdgesOfAnswer](reading("edges_of", "The relations that some entities are in."))

	Numbered    = row[NumberedRequest, NumberedMemories](reading("numbered", "Memories by their numbers."))
	Neighbours  = row[NeighboursRequest, NeighbourMemories](reading("neighbours", "The memories on both sides of a number."))
	Workspace   = row[WorkspaceRequest, WorkspaceCounts](reading("workspace", "The counters of a namespace that events are captured in."))
	KnownEvents = row[KnownEventsRequest, KnownEventIDs](reading("known_events", "The events that are stored already."))

	Captures = row[CapturesRequest, CapturesPage](reading("captures",
		"The summaries of a workspace's events with their events, in the order of their numbers."))
	Alike = row[AlikeRequest, AlikeSessions](reading("alike",
		"The sessions of a workspace that have events in common with one of them."))

	Owned      = row[OwnedRequest, OwnedPage](reading("owned", "The memories that an agent owns, the newest first."))
	Receipts   = row[ReceiptsRequest, ReceiptList](reading("receipts", "What an agent's memories cost, the newest first."))
	Grants     = row[GrantsRequest, GrantList](reading("grants", "Capabilities of an agent, or of all agents."))
	Identified = row[IdentifiedRequest, IdentifiedAgent](reading("identified", "The operator's identity, or the one with a display name."))
	Census     = row[CensusRequest, CensusRows](reading("census", "The newest memories, receipts and capabilities that belong together."))

	Recent = row[RecentRequest, RecentMemories](reading("recent", "The newest active memories."))
	LookUp = row[LookUpRequest, LookedUp](reading("look_up", "A memory with the relations of what it names and the memories around it."))
	Tiers  = row[TiersRequest, TierCounts](reading("tiers", "The number of active memories by tier."))
)

// reading is an operation that reads for a dialect, which has awaited its client's freshness before.
func reading(name, does string) Op { return Op{Name: name, Does: does, Scope: Read, Cost: free} }

type AwaitRequest struct {
	Fresh      // how new this node must be
	Found bool // recalls on this node must find all that the state holds
}

// Kept is a memory with what else the state keeps of it.
type Kept struct {
	*oplog.Memory
	Event  oplog.EventID // that it is the summary of; 0 for none
	Vector []float32     // when the request asks for vectors
}

// Visibility selects the memories that a client may see, whatever their age: those of a namespace and, unless Alone
// is set, those of other namespaces that do not begin with Private.
type Visibility struct {
	Namespace, Private string
	Alone              bool
}

// Shows reports whether the client may see a memory. It sees no forgotten memory.
func (s Visibility) Shows(m *oplog.Memory) bool {
	if m.Status == oplog.Tombstoned {
		return false
	}
	return m.Namespace == s.Namespace || !s.Alone && !strings.HasPrefix(m.Namespace, s.Private)
}

type (
	EdgesOfRequest struct {
		Entities []string // as they are spelled
		Most     int
	}
	EdgesOfAnswer struct{ Edges []oplog.Edge } // each once, in the order of their making
)

// Memories by number, and events.
type (
	NumberedRequest struct {
		Seqs    []oplog.Seq
		Vectors bool
	}
	NumberedMemories  struct{ Memories []Kept } // in the order of the request, without numbers that name none
	NeighboursRequest struct {
		Visibility
		At            oplog.Seq // 0 before it means the newest
		Before, After int       // how many at most
	}
	NeighbourMemories struct {
		Before []Kept // with lower numbers, the highest first
		After  []Kept // At and higher numbers, the lowest first
	}
	WorkspaceRequest struct{ Namespace string }
	WorkspaceCounts  struct {
		Events   oplog.EventCounts
		Memories oplog.Counts
		Embedded uint64 // memories with a vector; 0 when the database has no embedder
	}
	KnownEventsRequest struct {
		Workspace string
		Marks     []EventMark
	}
	// An EventMark is the same for the same event of a workspace.
	EventMark struct {
		Session string
		Hash    []byte
	}
	KnownEventIDs struct{ Events []CapturedIDs } // of each mark; zero when there is no such event
)

// A workspace's events, for those that summarise, copy or compare them.
type (
	CapturesRequest struct {
		Workspace string
		From      oplog.Seq       // the number to begin with
		Events    []oplog.EventID // these alone; none: as many as the bounds of a page let
		Payloads  int             // bytes of payloads at most; an event is left out of none, but its payload is where there is no room
		Merged    bool            // only summaries that were merged into others
	}
	CapturesPage struct {
		Captures []CapturedMemory
		Next     oplog.Seq // From of the next page; 0 after the last
	}
	// CapturedMemory is a summary with its event. A payload without room is nil.
	CapturedMemory struct {
		*oplog.Memory
		Event *oplog.StoredEvent
	}
	AlikeRequest  struct{ Workspace, Session string }
	AlikeSessions struct{ Sessions []AlikeSession } // the most events in common first, then the latest
	AlikeSession  struct {
		Session string
		Shared  int
		Last    oplog.Time
	}
)

// What agents own, pay and may do.
type (
	OwnedRequest struct {
		Owner  string // key of the agent; the operator owns all that no other agent does
		Tier   string // blank for all
		Before oplog.Time
		Limit  uint64
	}
	// An OwnedPage ends with a whole millisecond. It may hold no memory and yet not be the last.
	OwnedPage struct {
		Memories []Kept     // the newest first, with their vectors
		Next     oplog.Time // Before of the next page; 0 after the last
	}
	ReceiptsRequest struct {
		Payer string
		Since oplog.Time
		Limit uint64
	}
	ReceiptList   struct{ Receipts []oplog.Receipt } // the newest first
	GrantsRequest struct {
		Subject string   // blank for all
		Actions []string // none for all; those of an action come the oldest first, else the newest first
		By      string   // key that gave them; blank for all
		At      uint64   // when they must not have expired, in milliseconds
		First   bool     // only those that the operator began with, revoked ones too
		Limit   uint64
	}
	GrantList struct {
		Grants []oplog.StoredGrant
		Names  map[string]string // display names of the keys in them
	}
	IdentifiedRequest struct{ Display string }           // blank for the operator
	IdentifiedAgent   struct{ Identity *oplog.Identity } // nil when there is none
	CensusRequest     struct {
		Window uint64   // how many rows of each kind
		RIDs   []string // that may be missing
	}
	CensusRows struct {
		Memories []Paid          // of the agents' protocol
		Unpaid   []oplog.Receipt // without a memory
		Grants   []oplog.StoredGrant
		Missing  []string // the ids that name no memory
	}
	// Paid is a memory with its receipts.
	Paid struct {
		*oplog.Memory
		Receipts []oplog.Receipt
	}
)

// Lists, and how much there is.
type (
	RecentRequest struct {
		Namespace, Tier string     // blank for all
		Before          oplog.Time // 0 for the newest
		Limit, Look     int        // how many to return, and how many to look at; 0 looks at all
		Bare            bool       // the ids alone
	}
	RecentMemories struct {
		Memories []*oplog.Memory // the newest first
		Cut      bool            // more were not looked at
	}
	LookUpRequest struct {
		RID          string
		Window, Look int      // how many memories of its namespace to return on each side, and how many to look at
		Entities     []string // whose relations to return, too
		Edges        int      // relations of each entity
	}
	LookedUp struct {
		Memory        *oplog.Memory   // nil when there is none, or it is forgotten
		Before, After []*oplog.Memory // by when they were created, the oldest first
		Edges         []oplog.Edge
	}
	TiersRequest struct {
		Namespace string // blank for all
		Look      int    // how many records to look at, from the oldest on
	}
	TierCounts struct {
		Tiers map[string]int
		Bytes int         // of their texts and metadata
		Stats oplog.Stats // of the database
		Index oplog.Index // the answer reflects the log up to here
	}
)
