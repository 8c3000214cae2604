package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// The dialects of this host ask these in addition to the operations that every surface offers, and those of reads.go.
// Their requests hold filters and operations of the log, so no surface can describe them: they have no route, no
// frame and no tool, and pass the same door.
var (
	Search = row[SearchRequest, Found](Op{Name: "search", Does: "Find memories with a dialect's own filters.", Scope: Read})
	Place  = row[Nothing, PlaceAnswer](Op{Name: "place",
		Does: "This node's place in its cluster at the moment, without asking another node.", Scope: Read, Cost: free})

	Capture = row[CaptureRequest, Captured](Op{Name: "capture", Does: "Store events with their summaries, all or none.",
		Scope: Write, Writes: true,
		Cost: free}) // what is new is counted when the events are made
	ForgetMany = row[ForgetManyRequest, ForgottenMany](Op{Name: "forget_many", Does: "Forget memories in one entry.",
		Scope: Write, Writes: true,
		Cost: func(request any) int { return max(1, len(request.(*ForgetManyRequest).RIDs)) }})
	SweepNow = row[SweepNowRequest, Swept](Op{Name: "sweep_now",
		Does: "Forget memories of a namespace whose time is over, as one bounded step.", Scope: Write, Writes: true})

	PurgeStep = row[oplog.Purge, PurgedStep](Op{Name: "purge_step",
		Does: "Drop some memories created before a time, as one bounded step.", Scope: Owner, Writes: true})

	KeepIntent = row[KeepIntentRequest, Nothing](Op{Name: "keep_intent",
		Does: "Store an intent's outcome, with its receipt.", Scope: Write, Writes: true, Adds: func(any) int { return 1 }})
	KeepIdentity = row[KeepIdentityRequest, Nothing](Op{Name: "keep_identity",
		Does: "Store an agent's identity, with its first capabilities.", Scope: Write, Writes: true})
	Grant       = row[oplog.Grant, Nothing](Op{Name: "grant", Does: "Give an agent a capability.", Scope: Write, Writes: true})
	Revoke      = row[oplog.Revoke, Revoked](Op{Name: "revoke", Does: "End a capability.", Scope: Write, Writes: true})
	PurgeGrants = row[oplog.PurgeGrants, PurgedGrants](Op{Name: "purge_grants",
		Does: "Drop capabilities that were revoked before a time.", Scope: Owner, Writes: true})
)

// What the dialects of this host do to the host and not to a memory. What a request does is in it as a function: the
// door decides whether it is called.
var (
	RunProgram = row[HostRequest, Nothing](Op{Name: "run_program", Node: true, Does: "Run a program of this host.",
		Scope: Programs, Stream: true, Cost: free})
	UseFiles = row[HostRequest, Nothing](Op{Name: "use_files", Node: true, Does: "Read or write files of this host.",
		Scope: Files, Stream: true, Cost: free})
	RunGit = row[HostRequest, Nothing](Op{Name: "run_git", Node: true, Does: "Run git on a repository of this host.",
		Scope: Git, Stream: true, Cost: free})
	AskHosts = row[HostRequest, Nothing](Op{Name: "ask_hosts", Node: true, Does: "Ask other hosts over HTTP.",
		Scope: Network, Stream: true, Cost: free})
	StopNode = row[HostRequest, Nothing](Op{Name: "stop_node", Node: true,
		Does: "Stop the process that serves the client.", Scope: Stop, Stream: true, Cost: free})
	LoseStream = row[Nothing, Nothing](Op{Name: "lose_stream", Node: true,
		Does: "Count an event stream that was ended because its client does not keep up.", Scope: Read, Cost: free})
)

// free is the cost of what is part of an operation, and of what is about no memory: the rate of a database does not
// hold it.
func free(any) int { return 0 }

// MaxHits is the most that a search returns.
const MaxHits = 1000

// A Host is the door as the dialects of this host find it.
type Host interface {
	Door
	// Local is this host's user as a caller in a database.
	Local(database string) (Caller, error)
}

// At is a database behind the door, for a dialect whose clients are this host's user.
type At struct {
	Host
	Surface  string // the dialect's name, for the slow log
	Database string
	Also     []Scope // what the clients need beside reading, writing and owning the database: see RunProgram and its neighbours
}

// Ask does the operation for this host's user.
func (o Of[Q, A]) Ask(ctx context.Context, at At, request *Q) (*A, error) {
	c, err := at.Local(at.Database)
	if err != nil {
		return nil, err
	}
	c.Surface = at.Surface
	c.Scopes = append(c.Scopes[:len(c.Scopes):len(c.Scopes)], at.Also...)
	return o.Do(ctx, at, c, request)
}

// Act has the door call act, which does something to the host. It returns denied when the door does not let the
// clients.
func (at At) Act(ctx context.Context, what Of[HostRequest, Nothing], denied error, act func(context.Context) error) error {
	_, err := what.Ask(ctx, at, &HostRequest{Run: act})
	if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
		return denied
	}
	return err
}

// awaitTimeout bounds how long a dialect's client waits for freshness.
const awaitTimeout = 5 * time.Second

// Await waits until this node is as new as a client asks; what is read after it is no older. Dialects call it in front
// of every request, so that none of their reads can forget it.
func (at At) Await(ctx context.Context, f Fresh) error {
	if f == (Fresh{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	_, err := Await.Ask(ctx, at, &AwaitRequest{Fresh: f})
	return err
}

// A SearchRequest is a question. What is not set does not filter.
type SearchRequest struct {
	Text         string
	Vector       []float32 // the question's; made by the database's embedder when there is none
	K            int       // at most so many, up to MaxHits
	Expand       bool      // follow relations of what the question names
	Types        []string
	Namespace    string
	Tier         string
	Private      string // memories of namespaces with this prefix are not seen,
	Within       string // but for those of this namespace
	Since, Until oplog.Time
	MinScore     float64
	Match        json.RawMessage   // a filter of attributes, which is true of all that is found; nil for none
	Now          time.Time         // of the question: decides recency and decay; zero is now
	Fresh                          // how new the answer must be
	Quiet        bool              // what is found is not counted as used
	Admit        func(Facts) bool  // asked inside the scans, by several goroutines; nil admits all
	Pick         func([]Hit) []Hit // the last cut: what it leaves out is not counted as used; nil leaves all
}

// Facts holds the fields that a filter inside the scans may look at.
type Facts struct {
	Namespace, Owner, Tier string
	Created                oplog.Time
}

// A Hit is a memory that was found. The memory is shared: it must not be changed.
type Hit struct {
	Memory *oplog.Memory
	Score  float64
	Why    []string
}

type Found struct {
	Hits    []Hit       // best first
	Index   oplog.Index // the answer reflects the log up to here
	Matched int         // memories that have to do with the question
	Below   int         // of them, those that score less than MinScore
}

type PlaceAnswer struct {
	NodeID  uint32
	Role    string  // leader, follower or candidate
	Leader  *uint32 // nil while none is known
	Term    uint64
	Commit  uint64
	Applied oplog.Index
	Peers   int // other members
}

// A CaptureRequest holds the raw output of tools. The node removes secrets and makes the events of the rest.
type CaptureRequest struct {
	Said []Said
	Make func([]Said) ([]CapturedEvent, error) // is given all of Said, redacted; what it makes no event of is not stored
	Turn func(work func() error) error         // runs the redaction of large requests; nil: at once
}

// Said is a tool's output in a session.
type Said struct {
	Session, Tool, Source string
	Payload               any // decoded JSON
}

// A CapturedEvent is an action of a tool, and the memory of it.
type CapturedEvent struct {
	Event   *oplog.Event
	Summary *oplog.Remember
}

type Captured struct {
	IDs      []CapturedIDs // of the events that were made, in their order
	Redacted []string      // kinds of secrets that were taken out
}

// CapturedIDs are the numbers that an event and its summary got.
type CapturedIDs struct {
	Event   oplog.EventID
	Summary oplog.Seq
}

type ForgetManyRequest struct{ RIDs []string }

type ForgottenMany struct{ Found []bool } // for each, whether there was one to forget

type SweepNowRequest struct{ Namespace string }

type Swept struct{ Forgotten uint64 }

type PurgedStep struct {
	Purged uint64
	Next   string // Purge.From of the next step; blank after the last
}

type KeepIntentRequest struct {
	Key     string // of idempotency
	Memory  *oplog.Remember
	Receipt *oplog.Receipt
}

type KeepIdentityRequest struct {
	Identity *oplog.Identity
	Grants   []*oplog.Grant
}

type Revoked struct {
	Changed bool   // whether it held until now
	Action  string // that it was for; blank when there is no such capability
}

type PurgedGrants struct{ Purged uint64 }

// A HostRequest is something to be done to this host.
type HostRequest struct {
	Run func(context.Context) error // nil: the caller only wants to know whether it may
}
