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
	Files            int    `json:"files"` // files to scan
}

// backfillRun is a running backfill or import of a workspace. It continues when its client disconnects, and a second
// request joins it.
type backfillRun struct {
	mu    sync.Mutex
	tally Tally
	err   error
	done  chan struct{}
}

func (r *backfillRun) update(f func(*Tally)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.tally)
	r.tally.Skipped = r.tally.SkippedDuplicate
}

func (r *backfillRun) snapshot() (Tally, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tally, r.err
}

// finish wakes the waiting requests. Running is false before they answer, so their clients can start another run at
// once.
func (r *backfillRun) finish(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err, r.tally.Running = err, false
	close(r.done)
}

func (r *backfillRun) fail(err error) {
	r.update(func(t *Tally) {
		t.Errors++
		t.FirstError = cmp.Or(t.FirstError, err.Error())
	})
}

// run starts work in a run of the workspace, and returns the run. If a run is active, it returns that one instead.
func (s *Server) run(key string, source string, work func(context.Context, *backfillRun) error) *backfillRun {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.runs[key]; r != nil {
		if t, _ := r.snapshot(); t.Running {
			return r
		}
	}
	r := &backfillRun{tally: Tally{Source: source, Running: true}, done: make(chan struct{})}
	s.runs[key] = r
	s.Go(func() {
		err := work(s.Ctx, r)
		t, _ := r.snapshot()
		s.Log.Info("backfill done", "workspace", key, "source", source, "scanned", t.Scanned, "captured", t.Captured,
			"duplicate", t.SkippedDuplicate, "broken", t.Broken, "errors", t.Errors, "complete", err == nil)
		r.finish(err)
	})
	return r
}

// runInBackground runs work in a run of the workspace, and answers when the run is done. The run continues if the
// client disconnects.
func (c *call) runInBackground(source string, work func(context.Context, *call, *backfillRun) error) (any, error) {
	job := *c
	job.fields = nil // the run does not keep the request in memory
	r := c.s.run(c.w.Key, source, func(ctx context.Context, r *backfillRun) error { return work(ctx, &job, r) })
	<-r.done
	return r.snapshot()
}

// backfill captures the tool calls in transcripts, and answers when that is done.
func backfill(_ context.Context, c *call) (any, error) {
	const transcripts = "transcripts"
	if source := c.fieldText("source", transcripts); source != transcripts && string(c.fields["source"]) != "null" {
		return nil, badRequest("unsupported backfill source: " + redactShort(source))
	}
	const all = 1 << 30
	limit, err := c.count("limit", all, all)
	perFile, err2 := c.count("perTranscriptLimit", all, all)
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	ownOnly := c.fields.Flag("workspaceOnly", true)
	return c.runInBackground(transcripts, func(ctx context.Context, job *call, r *backfillRun) error {
		return job.s.withPermission(ctx, api.UseFiles, func() error { return job.replay(ctx, r, ownOnly, limit, perFile) })
	})
}

// backfillRunState returns the progress of the last run of the workspace.
func backfillRunState(_ context.Context, c *call) (any, error) {
	c.s.mu.Lock()
	r := c.s.runs[c.w.Key]
	c.s.mu.Unlock()
	if r == nil {
		return Tally{}, nil
	}
	t, _ := r.snapshot()
	return t, nil
}

// replay captures the tool calls of session files, the newest file first.
func (c *call) replay(ctx context.Context, r *backfillRun, ownOnly bool, limit, perFile int) error {
	found := sessionFiles{}
	found.transcripts(c.s.cfg.Transcripts, c.w, ownOnly)
	found.rollouts(ctx, c.s.cfg.Rollouts, c.w, ownOnly)
	files := found.newest()
	files = files[:min(len(files), limit)]
	r.update(func(t *Tally) { t.Files = len(files) })
	for i, f := range files {
		if ctx.Err() != nil {
			return badRequest("backfill stopped; run it again to continue")
		}
		r.update(func(t *Tally) { t.Scanned++ })
		if err := c.transcript(ctx, r, f, perFile); err != nil {
			if errors.Is(err, errClusterUnavailable) {
				return err
			}
			r.fail(err)
		}
		if t, _ := r.snapshot(); (i+1)%10 == 0 || i+1 == len(files) {
			c.s.Log.Info("backfill", "workspace", c.w.Key, "scanned", t.Scanned, "of", len(files), "captured", t.Captured,
				"duplicate", t.SkippedDuplicate)
		}
	}
	return nil
}

// errClusterUnavailable ends a run, because the rest of the run would fail too. A new run skips the events that are
// stored already.
const errClusterUnavailable = badRequest("the cluster takes no writes; run it again to continue")

var notAlnum = regexp.MustCompile(`[^A-Za-z0-9]`)

// sessionFiles maps session files to their modification times.
type sessionFiles map[string]time.Time

// add adds the matching .jsonl files of a directory whose names have a prefix. It ignores links, pipes, and
// directories that cannot be read.
func (f sessionFiles) add(dir, prefix string, match func(path string) bool) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), prefix) || filepath.Ext(path) != ".jsonl" || !match(path) {
			continue
		}
		if i, err := e.Info(); err == nil {
			f[path] = i.ModTime()
		}
	}
}

// newest returns the files sorted by modification time, newest first.
func (f sessionFiles) newest() []string {
	return slices.SortedFunc(maps.Keys(f), func(a, b string) int { return cmp.Or(f[b].Compare(f[a]), strings.Compare(a, b)) })
}

// transcripts adds the session files of Claude Code: those of the workspace if ownOnly is set, otherwise all.
func (f sessionFiles) transcripts(root string, w Workspace, ownOnly bool) {
	var dirs []string
	if ownOnly {
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

// batch collects tool outputs for one entry of the log.
type batch struct {
	c            *call
	r            *backfillRun
	outputs      []toolOutput
	size         int
	observations []*observation // of the redacted outputs, without those that are stored already
	observed     bool
}

const (
	maxBatchOutputs = 128
	maxBatchBytes   = 1 << 20
)

// add adds an output of the given size, and flushes a full batch.
func (b *batch) add(ctx context.Context, h toolOutput, size int) error {
	if len(b.outputs) > 0 && b.size+size > maxBatchBytes {
		if err := b.flush(ctx); err != nil {
			return err
		}
	}
	b.outputs = append(b.outputs, h)
	b.size += size
	if len(b.outputs) < maxBatchOutputs {
		return nil
	}
	return b.flush(ctx)
}

// flush proposes the new events of the batch as one entry. If another client stores one of them meanwhile, the entry
// is rejected, and flush proposes the others. It also retries after an unknown outcome: if the entry was stored, the
// retry finds its events.
func (b *batch) flush(ctx context.Context) error {
	defer func() { b.outputs, b.observations, b.size, b.observed = nil, nil, 0, false }()
	wait := 200 * time.Millisecond
	outputs := api.Each(b.outputs, func(h toolOutput) api.Said { return h.Said })
	for attempt := 0; len(b.outputs) > 0; attempt++ {
		wctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		_, err := api.Capture.Ask(wctx, b.c.s.cfg.Memory,
			&api.CaptureRequest{Said: outputs, Make: func(clean []api.Said) ([]api.CapturedEvent, error) { return b.events(wctx, clean) }})
		cancel()
		var opErr *oplog.Error
		switch {
		case err == nil:
			b.r.update(func(t *Tally) { t.Captured += len(b.observations) })
			return nil
		case errors.Is(err, oplog.ErrEventKnown):
			continue
		case errors.As(err, &opErr) &&
			(opErr.Kind == oplog.Unavailable || opErr.Kind == oplog.UnknownOutcome || opErr.Kind == oplog.NotLeader),
			errors.Is(err, context.DeadlineExceeded):
		case isRejected(err):
			return b.flushHalves(ctx, err)
		default:
			return b.c.s.publicError("backfill", err)
		}
		if attempt >= 20 {
			return errClusterUnavailable
		}
		if pause.For(ctx, wait) != nil {
			return errClusterUnavailable
		}
		wait = min(2*wait, 2*time.Second)
	}
	return nil
}

// flushHalves proposes the halves of a batch that was rejected, so that an event that can never be stored costs no
// other one. That event counts as an error.
func (b *batch) flushHalves(ctx context.Context, err error) error {
	if len(b.observations) == 1 {
		b.r.fail(b.c.s.publicError("backfill", err))
		return nil
	}
	for half := range slices.Chunk(b.observations, (len(b.observations)+1)/2) {
		part := &batch{c: b.c, r: b.r, observations: half, observed: true,
			outputs: api.Each(half, func(o *observation) toolOutput { return o.toolOutput })}
		if err := part.flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// isRejected reports whether the memory rejects what an entry holds, so that repeating it cannot succeed. Of conflicts
// only an erased text is one: others, such as a node with another embedder than the database, end when an operator
// mends them.
func isRejected(err error) bool {
	return errors.Is(err, oplog.ErrErasedText) || oplog.IsKind(err, oplog.Invalid, oplog.TooLarge)
}

// events returns the events of the redacted outputs, without those that are stored already.
func (b *batch) events(ctx context.Context, clean []api.Said) ([]api.CapturedEvent, error) {
	first := !b.observed
	if first {
		for i, output := range clean {
			if o, err := b.outputs[i].newObservation(output); err != nil {
				b.r.fail(err)
			} else {
				b.observations = append(b.observations, o)
			}
		}
		b.observed = true
	}
	unstored, err := b.unstored(ctx)
	if err != nil {
		return nil, err
	}
	stored := len(b.observations) - len(unstored)
	b.r.update(func(t *Tally) {
		if first {
			t.SkippedDuplicate += stored
		} else { // stored by an earlier attempt of this batch
			t.Captured += stored
		}
	})
	b.observations = unstored
	return api.Each(unstored, b.c.event), nil
}

// unstored returns the observations that are not stored yet, without repeats.
func (b *batch) unstored(ctx context.Context) (unstored []*observation, err error) {
	seen := map[string]bool{}
	known, err := b.c.s.knownEvents(ctx, b.c.ns, b.observations)
	for i, id := range known {
		o := b.observations[i]
		if key := o.Session + "\x00" + string(o.hash); !seen[key] && id.Event == 0 {
			seen[key] = true
			unstored = append(unstored, o)
		}
	}
	return unstored, err
}
