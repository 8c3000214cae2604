package sift

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
)

// Tally counts the results of a backfill or an import.
type Tally struct {
	Source           string `json:"source"`
	Scanned          int    `json:"scanned"`
	Captured         int    `json:"captured"`
	Skipped          int    `json:"skipped"`
	SkippedDuplicate int    `json:"skippedDuplicate"`
	Broken           int    `json:"broken"` // lines that could not be read
	Errors           int    `json:"errors"`
	FirstError       string `json:"firstError,omitempty"`
	Running          bool   `json:"running,omitempty"`
	Files            int    `json:"files"` // to be scanned
}

// A backfillRun is a replay of transcripts into a workspace. It outlives the client that asked for it, and a second
// request joins the first.
type backfillRun struct {
	mu    sync.Mutex
	tally Tally
	err   error
	done  chan struct{}
}

func (r *backfillRun) change(f func(*Tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.tally)
	r.tally.Skipped = r.tally.SkippedDuplicate
}

func (r *backfillRun) now() (Tally, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally, r.err
}

// end lets the waiting requests go. A client that is told the run is over can start another at once.
func (r *backfillRun) end(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.tally.Running = err, false
	close(r.done)
}

func (r *backfillRun) fail(err error) {
	r.change(func(t *Tally) {
		t.Errors++
		t.FirstError = cmp.Or(t.FirstError, err.Error())
	})
}

// run starts work for a workspace, unless there is some, and returns it.
func (s *Server) run(key string, source string, work func(context.Context, *backfillRun) error) *backfillRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[key]; r != nil {
		if t, _ := r.now(); t.Running {
			return r
		}
	}
	r := &backfillRun{tally: Tally{Source: source, Running: true}, done: make(chan struct{})}
	s.runs[key] = r
	s.Go(func() {
		err := work(s.Ctx, r)
		t, _ := r.now()
		s.Log.Info("backfill done", "workspace", key, "source", source, "scanned", t.Scanned, "captured", t.Captured,
			"duplicate", t.SkippedDuplicate, "broken", t.Broken, "errors", t.Errors, "complete", err == nil)
		r.end(err)
	})
	return r
}

// background has the server do the work of a request that goes on without its client, and answers when it is done.
func (c *call) background(source string, work func(context.Context, *call, *backfillRun) error) (any, error) {
	job := *c
	job.fields = nil // the request's bytes may go
	r := c.s.run(c.w.Key, source, func(ctx context.Context, r *backfillRun) error { return work(ctx, &job, r) })
	<-r.done
	return r.now()
}

// backfill replays transcripts and answers when it is done.
func backfill(_ context.Context, c *call) (any, error) {
	const transcripts = "transcripts"
	if source := c.printed("source", transcripts); source != transcripts && string(c.fields["source"]) != "null" {
		return nil, badRequest("unsupported backfill source: " + show(source))
	}
	const all = 1 << 30
	limit, err := c.count("limit", all, all)
	per, err2 := c.count("perTranscriptLimit", all, all)
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	own := c.fields.Flag("workspaceOnly", true)
	return c.background(transcripts, func(ctx context.Context, job *call, r *backfillRun) error {
		return job.s.onHost(ctx, api.UseFiles, func() error { return job.replay(ctx, r, own, limit, per) })
	})
}

// backfillRunState tells how far the workspace's backfill is: {"kind":"backfill_run"}.
func backfillRunState(_ context.Context, c *call) (any, error) {
	c.s.mu.Lock()
	r := c.s.runs[c.w.Key]
	c.s.mu.Unlock()
	if r == nil {
		return Tally{}, nil
	}
	t, _ := r.now()
	return t, nil
}

// replay takes up transcripts, newest first.
func (c *call) replay(ctx context.Context, r *backfillRun, own bool, limit, per int) error {
	found := sessionFiles{}
	found.transcripts(c.s.cfg.Transcripts, c.w, own)
	found.rollouts(ctx, c.s.cfg.Rollouts, c.w, own)
	files := found.newest()
	files = files[:min(len(files), limit)]
	r.change(func(t *Tally) { t.Files = len(files) })
	for i, f := range files {
		if ctx.Err() != nil {
			return badRequest("backfill stopped; run it again to continue")
		}
		r.change(func(t *Tally) { t.Scanned++ })
		if err := c.transcript(ctx, r, f, per); err != nil {
			if errors.Is(err, errStop) {
				return err
			}
			r.fail(err)
		}
		if t, _ := r.now(); (i+1)%10 == 0 || i+1 == len(files) {
			c.s.Log.Info("backfill", "workspace", c.w.Key, "scanned", t.Scanned, "of", len(files), "captured", t.Captured,
				"duplicate", t.SkippedDuplicate)
		}
	}
	return nil
}

// errStop ends a run: the rest of the work would fail as well. Asking again goes on where it stopped, because events
// that are stored already are skipped.
const errStop = badRequest("the cluster takes no writes; run it again to continue")

var notAlnum = regexp.MustCompile(`[^A-Za-z0-9]`)

// sessionFiles are the files of sessions, and when they changed.
type sessionFiles map[string]time.Time

// add looks into a directory for the wanted files with a prefix. Links out of the tree and pipes are none, and a
// directory that cannot be read has none.
func (f sessionFiles) add(dir, prefix string, wanted func(path string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), prefix) || filepath.Ext(path) != ".jsonl" || !wanted(path) {
			continue
		}
		if i, err := e.Info(); err == nil {
			f[path] = i.ModTime()
		}
	}
}

// newest lists the files by when they changed, the newest first.
func (f sessionFiles) newest() []string {
	return slices.SortedFunc(maps.Keys(f), func(a, b string) int { return cmp.Or(f[b].Compare(f[a]), strings.Compare(a, b)) })
}

// transcripts adds Claude Code's session files of a workspace, or of all.
func (f sessionFiles) transcripts(root string, w Workspace, own bool) {
	var dirs []string
	if own {
		for _, p := range []string{w.Dir, w.Top} {
			for _, enc := range []string{strings.ReplaceAll(p, "/", "-"), strings.NewReplacer("/", "-", ".", "-").Replace(p),
				notAlnum.ReplaceAllString(p, "-")} {
				if p != "" && !slices.Contains(dirs, enc) {
					dirs = append(dirs, enc)
				}
			}
		}
	} else {
		entries, _ := os.ReadDir(root)
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, e.Name())
			}
		}
	}
	for _, d := range dirs {
		f.add(filepath.Join(root, d), "", func(string) bool { return true })
	}
}

// A batch gathers what tools said, for one entry.
type batch struct {
	c     *call
	r     *backfillRun
	heard []heard
	size  int
	obs   []*observation // made of heard when the node has redacted it; those that are known by now are dropped
	made  bool
}

const (
	batchFrames = 128
	batchBytes  = 1 << 20
)

// add takes up what was read from so many bytes.
func (b *batch) add(ctx context.Context, h heard, size int) error {
	if len(b.heard) > 0 && b.size+size > batchBytes {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	b.heard = append(b.heard, h)
	b.size += size
	if len(b.heard) < batchFrames {
		return nil
	}
	return b.flush(ctx)
}

// flush proposes the new events of the batch as one entry. When another client stores one of them meanwhile, the
// entry is rejected, and the others are proposed again. So is an entry whose outcome is unknown: if it was stored,
// its events are known by then.
func (b *batch) flush(ctx context.Context) error {
	defer func() { b.heard, b.obs, b.size, b.made = nil, nil, 0, false }()
	wait := 200 * time.Millisecond
	said := api.Each(b.heard, func(h heard) api.Said { return h.Said })
	for attempt := 0; len(b.heard) > 0; attempt++ {
		wctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := api.Capture.Ask(wctx, b.c.s.cfg.Memory,
			&api.CaptureRequest{Said: said, Make: func(clean []api.Said) ([]api.CapturedEvent, error) { return b.events(wctx, clean) }})
		cancel()
		var known *oplog.Error
		switch {
		case err == nil:
			b.r.change(func(t *Tally) { t.Captured += len(b.obs) })
			return nil
		case errors.Is(err, oplog.ErrEventKnown):
			continue
		case errors.As(err, &known) &&
			(known.Kind == oplog.Unavailable || known.Kind == oplog.UnknownOutcome || known.Kind == oplog.NotLeader),
			errors.Is(err, context.DeadlineExceeded):
		default:
			return b.c.s.public("backfill", err)
		}
		if attempt >= 20 {
			return errStop
		}
		if pause.For(ctx, wait) != nil {
			return errStop
		}
		wait = min(2*wait, 2*time.Second)
	}
	return nil
}

// events makes those that are not stored yet of what tools said, redacted.
func (b *batch) events(ctx context.Context, clean []api.Said) ([]api.CapturedEvent, error) {
	first := !b.made
	if first {
		for i, said := range clean {
			if o, err := b.heard[i].observe(said); err != nil {
				b.r.fail(err)
			} else {
				b.obs = append(b.obs, o)
			}
		}
		b.made = true
	}
	fresh, err := b.fresh(ctx)
	if err != nil {
		return nil, err
	}
	stored := len(b.obs) - len(fresh)
	b.r.change(func(t *Tally) {
		if first {
			t.SkippedDuplicate += stored
		} else { // those that are known only now came from this batch's earlier attempts
			t.Captured += stored
		}
	})
	b.obs = fresh
	return api.Each(fresh, b.c.event), nil
}

// fresh are the batch's observations that no event has, each once.
func (b *batch) fresh(ctx context.Context) (fresh []*observation, err error) {
	seen := map[string]bool{}
	known, err := b.c.s.knownEvents(ctx, b.c.ns, b.obs)
	for i, id := range known {
		o := b.obs[i]
		if key := o.Session + "\x00" + string(o.hash); !seen[key] && id.Event == 0 {
			seen[key] = true
			fresh = append(fresh, o)
		}
	}
	return fresh, err
}
