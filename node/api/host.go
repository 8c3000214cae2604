package api

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// Operations that only the dialects of this host use, in addition to those of every surface and those of reads.go.
// Their requests hold filters and operations of the log, so no surface can describe them: they have no route, no
// frame and no tool. They pass the same door.
var (
	Search = row[SearchRequest, Found](Op{Name: "search", Does: "Find memories with a dialect's own filters.", Scope: Read})
	Place  = row[Nothing, PlaceAnswer](Op{Name: "place",
		Does: "This node's place in its cluster at the moment, without asking another node.", Scope: Read, Cost: free})

	Capture = row[CaptureRequest, Captured](Op{Name: "capture", Does: "Store events with their summaries, all or none.",
		Scope: Write, Writes: true,
		Cost: free}) // new events are counted when they are made
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

// Acts of the dialects on the host. Each request holds the act as a function, and the door decides whether to call it.
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

// free is the cost of operations that are part of another one, or not about memories. They do not count against the
// rate of a database.
func free(any) int { return 0 }

// MaxHits bounds the hits of a search.
const MaxHits = 1000

// A Host is the door for the dialects of this host.
type Host interface {
	Door
	// Local returns this host's user as a caller in a database.
	Local(database string) (Caller, error)
}

// At gives a dialect access to one database through the door. The dialect's clients are this host's user.
type At struct {
	Host
	Surface  string // the dialect's name, for the slow log
	Database string
	Also     []Scope // scopes of the clients beside read, write and owner, such as Programs
}

// Ask runs the operation for this host's user.
func (o Of[Q, A]) Ask(ctx context.Context, at At, request *Q) (*A, error) {
	c, err := at.Local(at.Database)
	if err != nil {
		return nil, err
	}
	c.Surface = at.Surface
	c.Scopes = append(c.Scopes[:len(c.Scopes):len(c.Scopes)], at.Also...)
	return o.Do(ctx, at, c, request)
}

// Act runs an act on the host if the door permits it, and otherwise returns denied.
func (at At) Act(ctx context.Context, what Of[HostRequest, Nothing], denied error, act func(context.Context) error) error {
	_, err := what.Ask(ctx, at, &HostRequest{Run: act})
	if errors.Is(err, &oplog.Error{Kind: oplog.Denied}) {
		return denied
	}
	return err
}

// awaitTimeout bounds how long a dialect's client waits for freshness.
const awaitTimeout = 5 * time.Second

// Await waits until this node is as fresh as a client requires; later reads are no older. Dialects call it before every
// request, so that no read can forget it.
func (at At) Await(ctx context.Context, f Fresh) error {
	if f == (Fresh{}) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, awaitTimeout)
	defer cancel()
	_, err := Await.Ask(ctx, at, &AwaitRequest{Fresh: f})
	return err
}

// A SearchRequest is a question. Fields that are not set do not filter.
type SearchRequest struct {
	Text         string
	Vector       []float32 // the question's; if nil, the database's embedder makes it
	K            int       // bound of the hits, at most MaxHits
	Expand       bool      // follow relations of the entities that the question names
	Types        []string
	Namespace    string
	Tier         string
	Private      string // excludes memories of namespaces with this prefix,
	Within       string // except for this namespace
	Since, Until oplog.Time
	MinScore     float64
	Match        json.RawMessage   // a filter of attributes; nil for none
	Now          time.Time         // time of the question, for recency and decay; zero is now
	Fresh                          // how fresh the answer must be
	Quiet        bool              // hits are not counted as used
	Admit        func(Facts) bool  // called inside the scans by several goroutines; nil admits all
	Pick         func([]Hit) []Hit // selects the returned hits; the others are not counted as used; nil keeps all
}

// Facts holds the fields that Admit may read inside the scans.
type Facts struct {
	Namespace, Owner, Tier string
	Created                oplog.Time
}

// A Hit is a memory that a search found. The memory is shared and must not be changed.
type Hit struct {
	Memory *oplog.Memory
	Score  float64
	Why    []string
}

type Found struct {
	Hits    []Hit       // best first
	Index   oplog.Index // the answer reflects the log up to this position
	Matched int         // memories that match the question
	Below   int         // matches that score less than MinScore
}

type PlaceAnswer struct {
	NodeID  uint32
	Role    string  // leader, follower or candidate
	Leader  *uint32 // nil if unknown
	Term    uint64
	Commit  uint64
	Applied oplog.Index
	Peers   int // other members
}

// A CaptureRequest holds the raw output of tools. The node removes secrets and makes the events of the rest.
type CaptureRequest struct {
	Said []Said
	Make func([]Said) ([]CapturedEvent, error) // makes events of the redacted outputs; nothing else is stored
	Turn func(work func() error) error         // runs the redaction of large requests; if nil, it runs at once
}

// Said is a tool's output in a session.
type Said struct {
	Session, Tool, Source string
	Payload               any // decoded JSON
}

// A CapturedEvent is an action of a tool with the memory that summarises it.
type CapturedEvent struct {
	Event   *oplog.Event
	Summary *oplog.Remember
}

type Captured struct {
	IDs      []CapturedIDs // of the events, in their order
	Redacted []string      // kinds of secrets that were removed
}

// CapturedIDs holds the numbers of an event and its summary.
type CapturedIDs struct {
	Event   oplog.EventID
	Summary oplog.Seq
}

type ForgetManyRequest struct{ RIDs []string }

type ForgottenMany struct{ Found []bool } // whether each existed

type SweepNowRequest struct{ Namespace string }

type Swept struct{ Forgotten uint64 }

type PurgedStep struct {
	Purged uint64
	Next   string // Purge.From of the next step; empty after the last
}

type KeepIntentRequest struct {
	Key     string // the idempotency key
	Memory  *oplog.Remember
	Receipt *oplog.Receipt
}

type KeepIdentityRequest struct {
	Identity *oplog.Identity
	Grants   []*oplog.Grant
}

type Revoked struct {
	Changed bool   // whether it was valid until now
	Action  string // the action that it permits; empty if there is no such capability
}

type PurgedGrants struct{ Purged uint64 }

// A HostRequest is an act on this host.
type HostRequest struct {
	Run func(context.Context) error // the act; nil only asks whether it is permitted
}
