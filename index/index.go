package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
)

// Config holds the state that an index follows and the directory for its files.
type Config struct {
	Dir    string // of this index alone
	State  *state.State
	Logger *slog.Logger // nil: discards
	Keys   *seal.Ring   // encrypts the files; nil: they are plain

	// A database that was ever given this many memories or fewer has no files: its index is made from the state when
	// a question comes. 0: all have files.
	Small    int
	Idle     time.Duration  // after which an unused index is closed; 0: never
	loading  func(oplog.DB) // for tests: called before a closed index is loaded
	deferred int            // maxDeferred; less in tests
	piece    int            // pieceRows; less in tests
	MaxOpen  int            // about how many indexes are open at once; 0: any number
}

// Index holds the index of every database.
type Index struct {
	cfg       Config
	cache     *text.Cache
	tails     *text.Backlog
	pool      vector.Pool
	scratches sync.Pool    // of *scratch
	searching atomic.Int32 // searches under way

	// turns order the goroutines that open, close and feed the index of a database: each locks the turn of its
	// database while it works. Lock order: remakes, following, a turn, mu.
	turns turns

	mu      sync.RWMutex
	dbs     map[oplog.DB]*database     // the open ones; nil after Close
	parked  map[oplog.DB]databaseFiles // the closed ones that have files
	counted map[oplog.DB]vectorCount   // of closed ones, while it is known
	gen     int                        // number of the last rebuild: each has directories of its own
	live    int                        // the rebuild that made dbs

	openings
	remaking
	following   sync.Mutex      // held by Follow and Rebuild, and while indexes are closed
	checkpoints checkpointState // owned by the holder of following

	dirs map[oplog.DB]string // left by an earlier run; nil once Open has returned

	stop   context.CancelFunc // of closeIdle
	closer sync.WaitGroup     // waits for closeIdle and for openings in the background
}

// remaking holds the databases that Remake has to rebuild, and the changes that come while it does. The index's mu
// guards both maps.
type remaking struct {
	remakes sync.Mutex           // held by Remake, before all other locks
	stale   map[oplog.DB]bool    // databases with damaged files
	remade  map[oplog.DB]touched // memories that entries touched while Remake rebuilds their database
	damaged damage.Files
	noticed chan struct{} // see Noticed
}

// postingCache bounds the decoded postings kept over all databases.
const postingCache = 128 << 20

// tailBytes bounds the rows that wait in memory for the text indexes of all databases together.
const tailBytes = 24 << 20

// Open brings the index up to date with the state. It reuses the files of an earlier run that are readable and belong
// to the same database. It returns a log index: the caller continues with Follow after it.
func Open(ctx context.Context, cfg Config) (*Index, oplog.Index, error) {
	cfg.deferred, cfg.piece = cmp.Or(cfg.deferred, maxDeferred), cmp.Or(cfg.piece, pieceRows)
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{cfg: cfg,
		openings: openings{opening: map[oplog.DB]*opening{}, openers: make(chan struct{}, runtime.GOMAXPROCS(0))},
		turns:    turns{by: map[oplog.DB]*sync.Mutex{}},
		remaking: remaking{stale: map[oplog.DB]bool{}, remade: map[oplog.DB]touched{}, noticed: make(chan struct{}, 1)},
		dirs:     map[oplog.DB]string{}, cache: text.NewCache(postingCache), tails: text.NewBacklog(tailBytes), pool: vector.NewPool()}
	if err := errors.Join(os.MkdirAll(cfg.Dir, 0o700), x.tidy()); err != nil {
		return nil, 0, fmt.Errorf("index: %w", err)
	}
	at, err := x.build(ctx, true)
	if err != nil {
		return x, at, err
	}
	x.checkpoint()
	x.dirs = nil
	closing, stop := context.WithCancel(context.Background())
	x.stop = stop
	if cfg.Idle > 0 || cfg.MaxOpen > 0 {
		x.closer.Go(func() { x.closeIdle(closing) })
	}
	return x, at, nil
}

// Rebuild discards the index and reads the whole state again, as after a restored snapshot. Searches use the old rows
// until it returns. Only the goroutine that calls Follow may call it.
func (x *Index) Rebuild(ctx context.Context) (oplog.Index, error) {
	x.following.Lock()
	defer x.following.Unlock()
	return x.rebuild(ctx)
}

// rebuild is like Rebuild, but its caller holds following.
func (x *Index) rebuild(ctx context.Context) (oplog.Index, error) {
	x.checkpoints.wait()
	x.checkpoints.last = nil
	at, err := x.build(ctx, false)
	if err == nil {
		x.checkpoint()
	}
	return at, err
}

// build makes the indexes of all databases from the state and replaces the searched ones by them. With adopt it
// reuses the files of an earlier run.
func (x *Index) build(ctx context.Context, adopt bool) (at oplog.Index, err error) {
	x.mu.Lock()
	x.gen++
	gen := x.gen
	x.mu.Unlock()
	m := newBuildResult()
	var cluster string
	var when oplog.HLC
	x.checkpoints.partial = true
	err = x.cfg.State.Read(func(v *state.View) error {
		cluster, at, when = v.Cluster(), v.Index(), v.Time()
		return x.loadAll(ctx, v, gen, adopt, m)
	})
	if err != nil {
		for _, d := range m.dbs {
			if adopt { // the files may be those of an earlier run
				d.words.Close()
			} else {
				d.drop()
			}
		}
		// perhaps only the log window is damaged, which a full read does not need
		if adopt && ctx.Err() == nil && (errors.Is(err, state.ErrState) || errors.Is(err, state.ErrTrimmed)) {
			x.cfg.Logger.Warn("log window behind the checkpoint of the index unreadable, reading the whole state instead", "err", err)
			x.checkpoints.last = nil
			return x.build(ctx, false)
		}
		return 0, fmt.Errorf("rebuild index: %w", err)
	}
	x.lockAllTurns() // indexes that are being opened belong to the rebuild before
	x.mu.Lock()
	old := x.dbs
	x.dbs, x.parked, x.counted, x.live = m.dbs, m.parked, m.counted, gen
	for id, o := range x.opening {
		if !o.begun { // the state that was read has what was deferred
			x.forgetOpening(id, o)
		}
	}
	for id, o := range m.openings {
		x.opening[id] = o
		x.deferredAll += len(o.deferred[id])
		x.openSoon(id, o, len(o.deferred[id]) > x.cfg.deferred)
	}
	x.mu.Unlock()
	x.unlockAllTurns()
	for _, d := range old {
		d.drop()
	}
	x.checkpoints.cluster, x.checkpoints.at, x.checkpoints.time, x.checkpoints.partial = cluster, at, when, false
	return at, nil
}

// load opens a database's index and fills it: from its checkpoint (revived), to which catchUp adds what came later,
// or from the whole state.
func (x *Index) load(ctx context.Context, v *state.View, info oplog.Database, gen int, dir string, files databaseFiles) (_ *database, revived bool, err error) {
	epoch := v.Embedding(info.ID).Epoch
	db, revived, err := x.open(v.Cluster(), info, gen, dir, files, files.Epoch == epoch)
	if err != nil {
		return nil, false, err
	}
	db.names.load(v, info.ID)
	db.epoch, db.asOf, db.withoutVectors = epoch, v.Index(), revived && files.Epoch != epoch
	if store := db.vectors.Load(); store != nil {
		store.Epoch = epoch
	}
	if !revived {
		err = x.readAll(ctx, v, info, db)
	}
	if db.repartition(v, info.ID) { // after all rows are there, with all processors
		x.checkpoints.due(x.cfg.piece)
	}
	return db, revived, err
}

// buildLogEvery is the number of memories after which a build logs its progress.
const buildLogEvery = 50_000

// readAll fills an index from the state.
func (x *Index) readAll(ctx context.Context, v *state.View, info oplog.Database, db *database) (err error) {
	kept := len(db.adopted)
	p := page{x: x, db: db}
	v.StoredMemories(info.ID, 0, func(m *oplog.Memory) bool {
		before := p.total
		err = p.add(ctx, m, v.Vector(info.ID, m.Seq))
		if p.total/buildLogEvery > before/buildLogEvery {
			x.cfg.Logger.Info("building the index", "database", info.ID, "memories", p.total)
		}
		return err == nil && ctx.Err() == nil
	})
	if err == nil {
		err = p.flush(ctx)
	}
	if err != nil {
		return err
	}
	x.cfg.Logger.Debug("index ready", "database", info.ID, "memories", p.total, "kept", kept-len(db.adopted))
	return db.deleteUnconfirmed()
}

// closeSync bounds how long Close waits for the disk. The next Open analyses the rest again.
const closeSync = 2 * time.Second

// Close writes a checkpoint, waits a bounded time for the text indexes to be on disk, and closes the files. The
// caller has stopped calling Follow before.
func (x *Index) Close() error {
	if x.stop != nil {
		x.stop()
		x.closer.Wait()
	}
	x.following.Lock()
	defer x.following.Unlock()
	x.checkpoints.wait()
	x.awaitOpenings()
	if x.dbs != nil && !x.checkpoints.partial && (x.checkpoints.changes.Load() > 0 || len(x.checkpoints.last) == 0) {
		x.checkpoints.changes.Store(0)
		x.captureCheckpoint()()
	}
	x.lockAllTurns() // indexes that were being opened are in dbs then
	x.mu.Lock()
	dbs := x.dbs
	x.dbs = nil
	x.mu.Unlock()
	x.unlockAllTurns()
	x.awaitOpenings()
	ctx, cancel := context.WithTimeout(context.Background(), closeSync)
	defer cancel()
	for id, d := range dbs {
		if err := d.words.Sync(ctx); err != nil && !errors.Is(err, text.ErrClosed) {
			x.cfg.Logger.Warn("index closed before all of it was on the disk, the next start indexes the rest", "database", id, "err", err)
		}
		d.words.Close()
	}
	return nil
}

func (x *Index) database(db oplog.DB) *database {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.dbs[db]
}
