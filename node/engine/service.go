package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/engine/embedding"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/node/engine/thinking"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/large"
)

// Service implements the operations of the memory. Every surface calls it, from any goroutine.
type Service struct {
	cfg    Config
	log    *slog.Logger
	state  *state.State
	commit *commit.Log
	access *access.Control
	index  *index.Index // since SetIndex
	raft   *raft.Node   // since Start

	measured  serviceMetrics
	load      workload
	questions *questionLog
	backups   *operate.Backups
	cluster   *operate.Cluster
	admin     *operate.Admin
	vectors   *embedding.Vectors // since SetIndex
	thinker   *thinking.Thinker  // since SetIndex

	reinforcer *reinforcer
}

// serviceMetrics holds the service's own figures for /metrics.
type serviceMetrics struct {
	stages  *prometheus.HistogramVec // how long the steps of writes and recalls take, whichever surface asked
	slow    atomic.Int64             // operations that took long
	dropped atomic.Int64             // event streams of this host's surfaces whose clients did not keep up
}

// readsAtOnce bounds the concurrent reads of the state and searches. Principals share them. More would not be faster,
// and would hold more rows in memory.
func readsAtOnce() int { return max(16, 4*runtime.GOMAXPROCS(0)) }

// workload counts the work that shares the machine.
type workload struct {
	asking  atomic.Int64  // recalls under way
	imports *large.Shares // imports under way
	reads   *large.Shares // reads of the state and searches that are worked on
}

// New returns a service. Operations that need an index work after SetIndex, and those that need the log after Start.
func New(cfg Config) (s *Service, err error) {
	s = &Service{cfg: cfg, log: cfg.Logger, state: cfg.State, commit: cfg.Commit, access: cfg.Access, questions: newQuestionLog()}
	s.measured.stages = newStages()
	s.load.imports, s.load.reads = large.NewShares(maxImports), large.NewShares(readsAtOnce())
	s.reinforcer = newReinforcer(s)
	s.cluster = operate.NewCluster(operate.ClusterConfig{Logger: cfg.Logger, State: cfg.State, Commit: cfg.Commit,
		Disk: cfg.Disk, Keys: cfg.Keys, Member: cfg.Member, Scheme: cfg.Scheme,
		Home: cfg.Home.Dir, Key: s.key(), Leftovers: cfg.Home.Leftovers, Certificates: cfg.Home.Certificates, Ports: cfg.Home.Ports,
		OthersKeys: askOthers(s, api.Keys), OthersPast: askOthers(s, api.Past),
		IndexDamage: func() []damage.File { return s.index.Damaged().List() },
		Models:      func() []string { return s.vectors.Names() }, Embedder: func() *api.Embedder { return s.vectors.Status() },
		Check: func() (api.Check, bool) { return s.vectors.Check() }})
	s.admin = operate.NewAdmin(operate.AdminConfig{State: cfg.State, Commit: cfg.Commit, Access: cfg.Access,
		NodeID: cfg.Member.NodeID, Wire: cfg.Member.Wire, HTTP: cfg.Member.HTTP, MaxDatabases: cfg.Limits.MaxDatabases, Write: s.writeResults,
		CatchUp: func(ctx context.Context) error { return cfg.Commit.Fresh(ctx, commit.Linearizable) }})
	s.backups, err = operate.NewBackups(cfg.Logger, cfg.State, cfg.Keys, cfg.Home.Spool, cfg.Backup)
	return s, err
}

// Backups returns the part that makes this node's backups.
func (s *Service) Backups() *operate.Backups { return s.backups }

// Cluster returns the part that reports the state of this node and its cluster.
func (s *Service) Cluster() *operate.Cluster { return s.cluster }

// RaftStatus reports this node's view of consensus.
func (s *Service) RaftStatus() raft.Status { return s.raft.Status() }

// Applied returns the log index that this node has applied.
func (s *Service) Applied() oplog.Index { return s.commit.Applied() }

// now returns the cluster's time as this node estimates it; its own clock may be wrong.
func (s *Service) now() time.Time { return s.commit.Now() }

// SetIndex enables recalls, embeddings and cognition. It is called before surfaces open.
func (s *Service) SetIndex(x *index.Index) {
	s.index = x
	s.vectors = embedding.New(embedding.Config{Logger: s.log, State: s.state, Index: x, Embedder: s.cfg.Embedder,
		Folder: s.cfg.Home.Models, Leads: s.commit.Leads, Select: s.access.Select,
		Write: func(ctx context.Context, c api.Caller, op oplog.Op) (oplog.Index, error) {
			w, err := s.write(ctx, c, op)
			return w.Index, err
		},
		Peers: func(ctx context.Context) []api.Peer { return s.cluster.Status(ctx).Peers },
	})
	b := s.cfg.Background
	s.thinker = thinking.New(thinking.Config{Logger: s.log, State: s.state, Index: x, Rows: b.ThinkRows, Consolidate: b.Consolidate,
		Now: s.now, Recalling: func() bool { return s.load.asking.Load() > 0 }, Leads: s.commit.Leads,
		Indexed: s.commit.Indexed, Databases: s.access.Databases, AskLeader: s.askLeader, ReadText: readText,
		Compose: s.composeMemory, Write: s.writeResults})
}

// Start begins the tasks. It is called when the log is open, before package commit says so.
func (s *Service) Start(r *raft.Node, spawn func(name string, task func(context.Context) error)) {
	s.raft = r
	s.cluster.Start(r)
	b := s.cfg.Background
	spawn("reinforce", s.reinforcer.run)
	if !b.NoThink {
		spawn("think", every(b.Think, s.whileLeading("think", s.thinker.RunBackground)))
	}
	spawn("abandon", every(b.Abandon, s.whileLeading("abandon", s.abandon)))
	spawn("sweep", every(b.Sweep, s.whileLeading("sweep", s.sweep)))
	afterwards := s.vectors.NewBackfill()
	spawn("embed", every(b.Embed, func(ctx context.Context) {
		s.eachDatabase(ctx, "embed", func() bool { return true }, afterwards.Round())
	}))
	spawn("partition", every(b.Partition, s.whileLeading("partition", s.learnPartitions())))
	spawn("erase dropped", every(b.Erase, s.erase))
	spawn("compare", every(operate.CompareEvery, s.cluster.Compare))
	spawn("past", s.cluster.Sample)
	spawn("look", nowAndEvery(operate.PollEvery, s.cluster.Poll))
	if p := s.backups.Planned(); p != nil {
		spawn("backup", nowAndEvery(p.Interval, s.backups.Next))
	}
}

// every runs f at intervals until the node stops.
func every(d time.Duration, f func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		for range pause.Ticks(ctx.Done(), d) {
			f(ctx)
		}
		return ctx.Err()
	}
}

// nowAndEvery runs f when the node starts, and then at intervals.
func nowAndEvery(d time.Duration, f func(context.Context)) func(context.Context) error {
	return func(ctx context.Context) error {
		f(ctx)
		return every(d, f)(ctx)
	}
}

// memory returns a memory from the current state; without an id if it does not exist.
func (s *Service) memory(db oplog.DB, rid string) (oplog.Memory, error) {
	return state.Get(s.state, func(v *state.View) (found oplog.Memory) {
		if m, ok := v.Memory(db, rid); ok {
			found = *m
		}
		return found
	})
}

// Written holds a write's index in the log. A client sends the index to another node to read its own write there.
type Written struct {
	Index    oplog.Index
	Replayed bool           // an idempotency key answered: the write had happened before
	Results  []oplog.Result // one for each operation
	First    oplog.Result   // the first of them, zero with an error
	Then     []oplog.Result // all results of the first time, where a key answered: the request may make other operations now

	Superseded []string // memories that the write marked as superseded
}

// A write holds the operations that a service method makes from a request.
type write struct {
	key    string // idempotency key of the client, or empty
	digest []byte // of what the client sent, for the key
	ops    []oplog.Op
}

// write proposes operations as one entry: all of them are applied, or none.
func (s *Service) write(ctx context.Context, c api.Caller, ops ...oplog.Op) (Written, error) {
	return s.propose(ctx, c, write{ops: ops})
}

// writeResults is write for the packages behind the door: it returns the entry's log index and a result for each
// operation.
func (s *Service) writeResults(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, []oplog.Result, error) {
	w, err := s.write(ctx, c, ops...)
	return w.Index, w.Results, err
}

// propose proposes an entry for a caller that the door has admitted, and returns when this node has applied and
// indexed it. A write without operations returns when the index has everything in the state.
func (s *Service) propose(ctx context.Context, c api.Caller, w write) (Written, error) {
	if len(w.key) > field.MaxKey {
		return Written{}, oplog.Errorf(oplog.Invalid, "idempotency key of %d bytes is over %d", len(w.key), field.MaxKey)
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Limits.ApplyTimeout)
	defer cancel()
	if len(w.ops) == 0 {
		at, _ := s.state.Applied()
		return Written{Index: at}, s.awaitReadable(ctx, at)
	}
	if err := s.rejectErased(c.DB, w.ops); err != nil {
		return Written{}, err
	}
	start := time.Now()
	e := oplog.Entry{Node: s.cfg.Member.NodeID, DB: c.DB, Key: w.key, Digest: w.digest, Ops: oplog.Follow(w.ops)}
	d, err := s.commit.Propose(ctx, access.AskerOf(c), e, c.Forward)
	if len(e.Ops) > len(w.ops) && commit.IsTooOld(err) { // a member cannot read what their texts state yet: the memories go without it
		e.Ops = w.ops
		d, err = s.commit.Propose(ctx, access.AskerOf(c), e, c.Forward)
	}
	if err != nil {
		return Written{}, err
	}
	s.observeStage("commit", start)
	s.cluster.Recent.Commits.Took(time.Since(start))
	// The entry is committed: an error of the wait below does not undo it.
	if err := s.awaitReadable(ctx, d.Index); err != nil {
		return Written{}, err
	}
	s.observeStage("readable", start)
	if d.Err != nil {
		return Written{}, d.Err
	}
	out := Written{Index: d.Index, Replayed: d.Replayed, Results: d.Results[:min(len(d.Results), len(w.ops))]}
	if d.Replayed {
		out.Then = d.Results
	}
	if len(out.Results) > 0 {
		out.First = out.Results[0]
	}
	for i, op := range e.Ops[:min(len(e.Ops), len(d.Results))] {
		if _, ok := op.(*oplog.Supersede); ok {
			out.Superseded = append(out.Superseded, d.Results[i].Rows...)
		}
	}
	return out, nil
}

// Note implements access.Log.
func (s *Service) Note(ctx context.Context, op oplog.Op) error {
	_, err := s.write(ctx, access.Node(), op)
	return err
}

// awaitReadable waits until the index has a write.
func (s *Service) awaitReadable(ctx context.Context, i oplog.Index) error {
	if err := s.commit.WaitIndexed(ctx, i); err != nil {
		return &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the write is committed but not yet readable here", Err: err}
	}
	return nil
}

// writeOps proposes operations that a dialect has made itself, as one entry.
func (s *Service) writeOps(ctx context.Context, c api.Caller, key string, ops ...oplog.Op) (Written, error) {
	ops = slices.Clone(ops)
	now, err := s.state.Current(c.DB)
	if err != nil {
		return Written{}, err
	}
	secrets := &redactor{policy: now.Redact}
	var made []*oplog.Remember
	for i, op := range ops { // what their texts name is read here, as for all memories
		m, ok := op.(*oplog.Remember)
		if !ok || m.Extractor != 0 {
			continue
		}
		named := *m
		if named.Stamp == (oplog.Stamp{}) {
			named.Stamp = c.Stamp()
		}
		secrets.memory(&named)
		if err := s.setExpiry(&named, &api.Draft{}, now.TTL); err != nil {
			return Written{}, err
		}
		if named.Extractor, named.Entities, named.Claims, err = s.extract(c, m.Text); err != nil {
			return Written{}, err
		}
		ops[i], made = &named, append(made, &named)
	}
	if err := s.vectors.Add(ctx, c, made); err != nil {
		return Written{}, err
	}
	return s.propose(ctx, c, write{key: key, ops: ops})
}

// maxKeySuffix is the number of bytes that a position in a batch adds to a key at most.
const maxKeySuffix = 16

// digest returns a digest of a client's request, so that another request cannot use the same idempotency key.
func digest(parts ...any) []byte {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%T %v\x00", p, p)
	}
	return h.Sum(nil)[:16]
}
