package api

import (
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// Reads of the dialects of this host, in addition to those of every surface. An answer holds plain data of the caller's
// database, all of one moment. No surface offers these rows, and they do not count against rates.
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

// reading returns the row of a dialect's read. The dialect has awaited its client's freshness before.
func reading(name, does string) Op { return Op{Name: name, Does: does, Scope: Read, Cost: free} }

type AwaitRequest struct {
	Fresh      // how fresh this node must be
	Found bool // this node's index must have everything that its state has
}

// Kept is a memory with further data that the state has of it.
type Kept struct {
	*oplog.Memory
	Event  oplog.EventID // the event that it summarises; 0 for none
	Vector []float32     // if the request asks for vectors
}

// Visibility selects the memories that a client may see, whatever their age: those of a namespace and, unless Alone
// is set, those of other namespaces that do not begin with Private.
type Visibility struct {
	Namespace, Private string
	Alone              bool
}

// Shows reports whether the client may see a memory. It sees none that was forgotten or is in quarantine.
func (s Visibility) Shows(m *oplog.Memory) bool {
	if m.Unlisted() {
		return false
	}
	return m.Namespace == s.Namespace || !s.Alone && !strings.HasPrefix(m.Namespace, s.Private)
}

type (
	EdgesOfRequest struct {
		Entities []string // by their exact names
		Most     int
	}
	EdgesOfAnswer struct{ Edges []oplog.Edge } // each once, in the order of their creation
)

// Memories by number, and events.
type (
	NumberedRequest struct {
		Seqs    []oplog.Seq
		Vectors bool
	}
	NumberedMemories  struct{ Memories []Kept } // in the order of the request, without unknown numbers
	NeighboursRequest struct {
		Visibility
		At            oplog.Seq // 0: Before counts from the newest
		Before, After int       // bounds of the two lists
	}
	NeighbourMemories struct {
		Before []Kept // with lower numbers, the highest first
		After  []Kept // At and higher numbers, the lowest first
	}
	WorkspaceRequest struct{ Namespace string }
	WorkspaceCounts  struct {
		Events   oplog.EventCounts
		Memories oplog.Counts
		Embedded uint64 // memories with a vector; 0 if the database has no embedder
	}
	KnownEventsRequest struct {
		Workspace string
		Marks     []EventMark
	}
	// An EventMark identifies an event within a workspace.
	EventMark struct {
		Session string
		Hash    []byte
	}
	KnownEventIDs struct{ Events []CapturedIDs } // for each mark; zero if there is no such event
)

// The events of a workspace, for summaries, copies and comparisons.
type (
	CapturesRequest struct {
		Workspace string
		From      oplog.Seq       // the first number
		Events    []oplog.EventID // only these; if empty, as many as the bounds of a page permit
		Payloads  int             // bound of the bytes of payloads; events beyond it come without their payloads
		Merged    bool            // only summaries that were merged into others
	}
	CapturesPage struct {
		Captures []CapturedMemory
		Next     oplog.Seq // From of the next page; 0 after the last
	}
	// CapturedMemory is a summary with its event. The payload is nil if there was no room for it.
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

// Memories, payments and capabilities of agents.
type (
	OwnedRequest struct {
		Owner  string // key of the agent; the operator owns everything that no other agent owns
		Tier   string // empty for all
		Before oplog.Time
		Limit  uint64
	}
	// An OwnedPage ends at a whole millisecond. A page may be empty and not be the last one.
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
		Subject string   // empty for all
		Actions []string // empty for all; capabilities of given actions come oldest first, else newest first
		By      string   // key of the issuer; empty for all
		At      uint64   // time at which they must be valid, in milliseconds
		First   bool     // only the operator's initial grants, including revoked ones
		Limit   uint64
	}
	GrantList struct {
		Grants []oplog.StoredGrant
		Names  map[string]string // display names of the keys in them
	}
	IdentifiedRequest struct{ Display string }           // empty for the operator
	IdentifiedAgent   struct{ Identity *oplog.Identity } // nil if there is none
	CensusRequest     struct {
		Window uint64   // number of rows of each kind
		RIDs   []string // ids that may be missing
	}
	CensusRows struct {
		Memories []Paid          // of the agents' protocol, as it stored them
		Unpaid   []oplog.Receipt // without a memory
		Grants   []oplog.StoredGrant
		Missing  []string // ids without a memory
	}
	// Paid is a memory with its receipts.
	Paid struct {
		*oplog.Memory
		Receipts []oplog.Receipt
	}
)

// Lists and sizes.
type (
	RecentRequest struct {
		Namespace, Tier string     // empty for all
		Before          oplog.Time // 0 for the newest
		Limit, Look     int        // bounds of the memories that are returned, and of those that are read; Look 0: no bound
		Bare            bool       // only ids
	}
	RecentMemories struct {
		Memories []*oplog.Memory // the newest first
		Cut      bool            // Look ended the scan
	}
	LookUpRequest struct {
		RID          string
		Window, Look int      // bounds of the memories of its namespace that are returned on each side, and that are read
		Entities     []string // entities whose relations are returned too
		Edges        int      // bound of the relations of each entity
	}
	LookedUp struct {
		Memory        *oplog.Memory   // nil if there is none, or it is forgotten
		Before, After []*oplog.Memory // by time of creation, the oldest first
		Edges         []oplog.Edge
	}
	TiersRequest struct {
		Namespace string // empty for all
		Look      int    // bound of the records that are read, from the oldest on
	}
	TierCounts struct {
		Tiers map[string]int
		Bytes int         // of their texts and metadata
		Stats oplog.Stats // of the database
		Index oplog.Index // the answer reflects the log up to this position
	}
)
