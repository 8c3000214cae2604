package index

import (
	"context"
	"errors"
	"time"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Opening a closed index may take long. The answers to all writes wait for Follow, so Follow must not wait for an
// opening: the index is loaded without the turn of its database, and Follow defers to the opening what comes
// meanwhile. Searches wait until the opening has applied that, so that a question after an answered write finds it.
// An entry that touches a closed index does not open it. It defers the ids of its memories to the next opening, by a
// question or, when much is deferred, by a task in the background.

// Bounds of what is deferred to openings. Beyond them the index is opened in the background.
const (
	maxDeferred    = 1000    // memories of a database
	maxDeferredAll = 100_000 // of all
	maxBehind      = 50_000  // records of the log that the next start would have to read
)

// An opening is a closed index that is being opened, or to which entries deferred something. mu of the index guards
// its fields.
type opening struct {
	begun    bool        // a task opens it
	soon     bool        // a background task is going to open it
	deferred touched     // memories that entries touched meanwhile
	behind   bool        // something was deferred that the files of the index lack
	since    oplog.Index // the files have everything up to here
	done     chan struct{}
}

func newOpening() *opening { return &opening{deferred: touched{}, done: make(chan struct{})} }

// openings holds the openings under way; mu of the index guards the map and the number.
type openings struct {
	opening     map[oplog.DB]*opening
	deferredAll int           // memories deferred to all of them, about
	openers     chan struct{} // holds a token for each opening in the background
}

var errRebuilt = errors.New("the index was rebuilt meanwhile")

// acquire returns the index of a database and keeps it open until release. It opens a closed one even if the caller
// gives up, so the next caller finds it open. It is nil when there is no such database.
func (x *Index) acquire(id oplog.DB) (d *database, err error) {
	for {
		if d, err = x.pin(id); d != nil || err != nil {
			return d, err
		}
		o, mine := x.begin(id)
		if !mine {
			if o != nil {
				<-o.done
			}
			continue
		}
		d, err = x.openNow(id, o)
		x.closeExcess()
		if !errors.Is(err, errRebuilt) {
			return d, err
		}
	}
}

// pin is like acquire, but only for an open index; it returns nil for a closed one.
func (x *Index) pin(id oplog.DB) (*database, error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.dbs == nil {
		return nil, text.ErrClosed
	}
	d := x.dbs[id]
	if d == nil || x.opening[id] != nil {
		return nil, nil
	}
	d.users.Add(1)
	return d, nil
}

func (d *database) release() { d.users.Add(-1) }

// begin notes that a closed index is being opened. It returns the opening under way, if there is one; mine is true
// when the caller is to open it.
func (x *Index) begin(id oplog.DB) (o *opening, mine bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch o = x.opening[id]; {
	case o != nil:
		mine, o.begun = !o.begun, true
		return o, mine
	case x.dbs == nil || x.dbs[id] != nil:
		return nil, false
	}
	o = newOpening()
	o.begun = true
	x.opening[id] = o
	return o, true
}

// deferClosed defers memories to the next opening of a closed index. The caller has its turn, so no opening ends
// meanwhile.
func (x *Index) deferClosed(id oplog.DB, list memories, soon bool) {
	x.mu.Lock()
	o := x.opening[id]
	if o == nil {
		o = newOpening()
		x.opening[id] = o
	}
	x.openSoon(id, o, soon)
	x.mu.Unlock()
	x.deferTo(id, list)
}

// openSoon starts to open an index in the background if that is due. mu of the index is held.
func (x *Index) openSoon(id oplog.DB, o *opening, due bool) {
	if !due || o.begun || o.soon {
		return
	}
	o.soon = true
	x.closer.Go(func() { x.openInTurn(id, o) })
}

// openBehind opens indexes in the background that are far behind.
func (x *Index) openBehind(ids []oplog.DB) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, id := range ids {
		if o := x.opening[id]; o != nil {
			x.openSoon(id, o, true)
		}
	}
}

// openInTurn opens an index, unless a question has begun to meanwhile.
func (x *Index) openInTurn(id oplog.DB, o *opening) {
	x.openers <- struct{}{}
	defer func() { <-x.openers }()
	x.mu.Lock()
	mine := !o.begun && x.opening[id] == o
	o.begun = o.begun || mine
	x.mu.Unlock()
	if !mine {
		return
	}
	d, err := x.openNow(id, o)
	if d != nil {
		d.release()
	}
	if err != nil && !errors.Is(err, errRebuilt) && !errors.Is(err, text.ErrClosed) {
		x.cfg.Logger.Warn("closed index not opened, the next question reads the state", "database", id, "err", err)
	}
	x.closeExcess()
}

// deferTo defers memories to the opening of a database; false when there is none.
func (x *Index) deferTo(id oplog.DB, list memories) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	o := x.opening[id]
	if o == nil {
		return false
	}
	if !o.behind {
		o.behind, o.since = true, x.checkpoints.at
	}
	if !o.begun {
		x.countPassed(id, list)
	}
	before := len(o.deferred.of(id))
	o.deferred.addUnread(id, list)
	x.deferredAll += len(o.deferred[id]) - before
	x.openSoon(id, o, len(o.deferred[id]) > x.cfg.deferred || x.deferredAll > maxDeferredAll)
	if duringRemake := x.remade[id]; duringRemake != nil {
		duringRemake.addUnread(id, list)
	}
	return true
}

// lockOpened locks the turn of a database once its index is not being opened, and returns the function that unlocks
// it.
func (x *Index) lockOpened(id oplog.DB) (end func()) {
	for {
		turn := x.turn(id)
		turn.Lock()
		x.mu.RLock()
		o := x.opening[id]
		x.mu.RUnlock()
		if o == nil {
			return turn.Unlock
		}
		turn.Unlock()
		switch d, err := x.acquire(id); { // if it does not open, the caller replaces it
		case d != nil:
			d.release()
		case errors.Is(err, text.ErrClosed):
			x.forgetUnbegun(id)
			<-o.done
		}
	}
}

// awaitOpenings waits for the openings under way.
func (x *Index) awaitOpenings() {
	x.mu.RLock()
	var all []*opening
	for _, o := range x.opening {
		if o.begun || o.soon {
			all = append(all, o)
		}
	}
	x.mu.RUnlock()
	for _, o := range all {
		<-o.done
	}
}

// openNow opens an index and applies what was deferred to it. It returns the index in use, or nil when there is no
// such database.
func (x *Index) openNow(id oplog.DB, o *opening) (d *database, err error) {
	turn := x.turn(id)
	turn.Lock() // its holder may be opening the index, or replacing it
	x.mu.RLock()
	d, live := x.dbs[id], x.live
	x.mu.RUnlock()
	turn.Unlock()
	if d == nil {
		if x.cfg.loading != nil {
			x.cfg.loading(id)
		}
		err = x.cfg.State.Read(func(v *state.View) (err error) {
			if info, ok := v.Database(id); ok {
				d, err = x.openClosed(context.Background(), v, info)
			}
			return err
		})
	}
	turn.Lock()
	defer turn.Unlock()
	for {
		x.mu.Lock()
		list, more := o.deferred[id]
		switch {
		case err != nil:
		case x.dbs == nil:
			err = text.ErrClosed
		case x.live != live:
			err = errRebuilt
		}
		if err != nil || d == nil || !more {
			files := x.parked[id]
			x.end(id, o, d, err)
			x.mu.Unlock()
			if err == nil && d == nil { // the database is gone
				err = x.removeFiles(files)
			}
			return discard(d, err)
		}
		x.deferredAll -= len(list)
		o.deferred = touched{}
		x.mu.Unlock()
		err = x.applyDeferred(context.Background(), id, d, list)
	}
}

// discard closes and removes an index whose opening failed. It turns errGone into no error.
func discard(d *database, err error) (*database, error) {
	switch {
	case err == nil || d == nil:
		return d, err
	case errors.Is(err, text.ErrClosed): // the next start has its files
		d.words.Close()
	default:
		d.drop()
	}
	if errors.Is(err, errGone) {
		err = nil
	}
	return nil, err
}

// end ends an opening, with mu held: searches find the index, or it stays closed. After a failure its files lack what
// was deferred, and the next opening reads the whole state.
func (x *Index) end(id oplog.DB, o *opening, d *database, err error) {
	failed := err != nil && !errors.Is(err, errRebuilt) && x.dbs != nil
	switch {
	case err == nil && d != nil:
		d.users.Add(1)
		d.used.Store(time.Now().UnixNano())
		x.dbs[id] = d
	case failed && x.dbs[id] == d:
		delete(x.dbs, id)
	}
	if err == nil || failed && (o.behind || errors.Is(err, errGone)) {
		delete(x.parked, id)
		delete(x.counted, id)
	}
	x.forgetOpening(id, o)
}

// forgetUnbegun forgets what was deferred to a closed index, unless a task opens it.
func (x *Index) forgetUnbegun(id oplog.DB) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if o := x.opening[id]; o != nil && !o.begun {
		x.forgetOpening(id, o)
	}
}

// forgetOpening removes an opening, begun or not, and wakes those that wait for it. mu of the index is held.
func (x *Index) forgetOpening(id oplog.DB, o *opening) {
	x.deferredAll -= len(o.deferred[id])
	delete(x.opening, id)
	close(o.done)
}

// applyDeferred brings an index up to date with the memories that entries touched while it was loaded.
func (x *Index) applyDeferred(ctx context.Context, id oplog.DB, d *database, list memories) error {
	return x.cfg.State.Read(func(v *state.View) error {
		if _, ok := v.Database(id); !ok {
			return errGone
		}
		d.names.load(v, id)
		d.changeOver(v, id)
		d.repartition(v, id)
		d.asOf = v.Index()
		return x.renew(ctx, v, id, d, list)
	})
}
