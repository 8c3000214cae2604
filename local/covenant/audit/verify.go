package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"

	"github.com/cairndb/cairn/local/covenant/journal"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Report is the result of comparing the event file with its hash chain.
type Report struct {
	Events   uint64   `json:"events"`
	Anchors  uint64   `json:"anchors"`
	Valid    bool     `json:"valid"`
	Root     string   `json:"root_hash_hex"`
	Failures []string `json:"failures"`
}

// maxFailures bounds a report, because a changed line breaks all later ones.
const maxFailures = 10_000

// Verify reads both files and recomputes the chain.
func (l *Log) Verify() (Report, error) {
	l.mu.Lock() // held only while the files are opened, because later events are not checked
	events, err := l.read(eventsFile)
	if err != nil {
		l.mu.Unlock()
		return Report{}, err
	}
	defer events.Close()
	chain, err := l.read(chainFile)
	l.mu.Unlock()
	if err != nil {
		return Report{}, err
	}
	defer chain.Close()
	return checkChain(events, chain)
}

func (r *Report) fail(format string, args ...any) {
	if len(r.Failures) < maxFailures {
		r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
	}
}

func checkChain(events, chain *Reader) (Report, error) {
	r := Report{Root: zeroHash, Failures: []string{}}
	anchors, stop := iter.Pull2(journal.Lines(chain))
	defer stop()
	for line, err := range journal.Lines(events) {
		if err != nil {
			return r, err
		}
		stored, err, ok := anchors()
		if err != nil {
			return r, err
		}
		r.checkEvent(openLine(events.keys, line), openLine(chain.keys, stored), ok)
	}
	for _, err, ok := anchors(); ok; _, err, ok = anchors() {
		if err != nil {
			return r, err
		}
		r.Anchors++
	}
	if r.Anchors > r.Events {
		r.fail("%d dangling chain anchor(s)", r.Anchors-r.Events)
	}
	if r.Anchors != r.Events {
		first := fmt.Sprintf("chain length mismatch: %d event(s), %d anchor(s)", r.Events, r.Anchors)
		r.Failures = slices.Insert(r.Failures[:min(len(r.Failures), maxFailures-1)], 0, first)
	}
	r.Valid = len(r.Failures) == 0
	return r, nil
}

// checkEvent compares an event with its anchor.
func (r *Report) checkEvent(line, stored []byte, anchored bool) {
	i := r.Events
	r.Events++
	var e Event
	if err := json.Unmarshal(line, &e); err != nil {
		r.fail("event line %d parse error: %v", i, err)
	}
	want := makeAnchor(r.Root, i, line, e)
	r.Root = want.Chain
	if !anchored {
		r.fail("chain entry %d missing", i)
		return
	}
	r.Anchors++
	var got anchor
	if err := json.Unmarshal(stored, &got); err != nil {
		r.fail("chain line %d parse error: %v", i, err)
	} else if got != want {
		r.fail("chain entry %d mismatch", i)
	}
}

// Purge removes the events before a time and recomputes the chain. It returns the number of removed events. It
// replaces the chain file first: after a crash in between, finishPurge replaces the event file at the next start.
func (l *Log) Purge(before uint64) (purged uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	remaining := Log{dir: l.dir, keys: l.keys, lastHash: zeroHash}
	if remaining.pair, err = l.openPair(journal.Create, ".new"); err != nil {
		return 0, err
	}
	for stored, err := range l.events.Lines() {
		if err != nil {
			return 0, errors.Join(err, remaining.discard())
		}
		line := openLine(l.keys, stored)
		var e Event
		if json.Unmarshal(line, &e) != nil || !bytes.HasSuffix(stored, []byte("\n")) || e.Timestamp < before {
			purged++
		} else if err := remaining.write(line, e); err != nil {
			return 0, errors.Join(err, remaining.discard())
		}
	}
	if purged == 0 {
		return 0, remaining.discard()
	}
	cutoff := max(min(before, l.lastTime+1), l.cutoff) // what happens from now on has its event, however late before is
	err = errors.Join(remaining.events.Flush(), remaining.chain.Flush(), remaining.events.Sync(), remaining.chain.Sync(),
		// Also syncs the names of the new files.
		syncwriter.Replace(l.path(cutoffFile), []byte(strconv.FormatUint(cutoff, 10)+"\n"), 0o600))
	if err != nil {
		return 0, errors.Join(err, remaining.discard())
	}
	if err = remaining.chain.Rename(l.path(chainFile)); err == nil {
		err = syncwriter.Dir(l.dir) // the chain must be replaced on disk before the events
	}
	if err == nil {
		err = remaining.events.Rename(l.path(eventsFile))
	}
	if err != nil {
		return 0, errors.Join(err, remaining.close())
	}
	_ = l.close() // the renamed files have replaced them
	l.pair, l.rows, l.lastHash, l.cutoff, l.consistent = remaining.pair, remaining.rows, remaining.lastHash, cutoff, true
	return purged, syncwriter.Dir(l.dir) // without the sync, a crash could bring the old events back
}

func (p pair) discard() error { return errors.Join(p.events.Discard(), p.chain.Discard()) }

// finishPurge completes a purge after a crash between its two renames: the chain file is new, and the new event file
// still has its temporary name.
func (l *Log) finishPurge() error {
	if _, err := os.Stat(l.path(chainFile + ".new")); err == nil { // neither file was replaced
		return errors.Join(os.Remove(l.path(chainFile+".new")), os.RemoveAll(l.path(eventsFile+".new")))
	}
	events, err := l.read(eventsFile + ".new")
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer events.Close()
	chain, err := l.read(chainFile)
	if err != nil {
		return os.Remove(l.path(eventsFile + ".new"))
	}
	defer chain.Close()
	if r, err := checkChain(events, chain); err != nil || !r.Valid {
		return errors.Join(err, os.Remove(l.path(eventsFile+".new")))
	}
	l.log.Warn("purge of the audit files cut short by a crash, finished")
	return os.Rename(l.path(eventsFile+".new"), l.path(eventsFile))
}
