package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/seal"
)

// A Report says whether the two files still vouch for each other.
type Report struct {
	Events   uint64   `json:"events"`
	Anchors  uint64   `json:"anchors"`
	Valid    bool     `json:"valid"`
	Root     string   `json:"root_hash_hex"`
	Failures []string `json:"failures"`
}

// maxFailures bounds a report: a broken line breaks all that follow it.
const maxFailures = 10_000

// Verify reads both files again and recomputes the chain.
func (l *Log) Verify() (Report, error) {
	l.mu.Lock() // held for the opening alone: what is appended later is not looked at
	events, size, err := l.asItIs(eventsFile)
	if err != nil {
		l.mu.Unlock()
		return Report{}, err
	}
	defer events.Close()
	chain, chainSize, err := l.asItIs(chainFile)
	l.mu.Unlock()
	if err != nil {
		return Report{}, err
	}
	defer chain.Close()
	return compare(io.NewSectionReader(events, 0, size), io.NewSectionReader(chain, 0, chainSize), l.keys)
}

// asItIs opens a file and says how long it is now.
func (l *Log) asItIs(name string) (*os.File, int64, error) {
	f, err := os.Open(filepath.Join(l.dir, name))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

func compare(events, chain io.ReaderAt, keys *seal.Ring) (Report, error) {
	r := Report{Root: zeros, Failures: []string{}}
	for _, c := range []struct {
		f io.ReaderAt
		n *uint64
	}{{events, &r.Events}, {chain, &r.Anchors}} {
		if err := eachLine(c.f, func([]byte, bool) error { *c.n++; return nil }); err != nil {
			return r, err
		}
	}
	fail := func(format string, args ...any) {
		if len(r.Failures) < maxFailures {
			r.Failures = append(r.Failures, fmt.Sprintf(format, args...))
		}
	}
	if r.Events != r.Anchors {
		fail("chain length mismatch: %d event(s), %d anchor(s)", r.Events, r.Anchors)
	}
	anchors := bufio.NewReaderSize(io.NewSectionReader(chain, 0, 1<<62), step)
	var i uint64
	err := eachLine(events, func(line []byte, _ bool) error {
		defer func() { i++ }()
		stored, err := anchors.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		missing := len(stored) == 0
		line, stored = opened(keys, line), opened(keys, stored)
		var e Event
		if err := json.Unmarshal(line, &e); err != nil {
			fail("event line %d parse error: %v", i, err)
		}
		want := link(r.Root, i, line, e)
		r.Root = want.Chain
		var got anchor
		switch {
		case missing:
			fail("chain entry %d missing", i)
		case json.Unmarshal(stored, &got) != nil:
			fail("chain line %d parse error: %v", i, json.Unmarshal(stored, &got))
		case got != want:
			fail("chain entry %d mismatch", i)
		}
		return nil
	})
	if r.Anchors > r.Events {
		fail("%d dangling chain anchor(s)", r.Anchors-r.Events)
	}
	r.Valid = len(r.Failures) == 0
	return r, err
}

// Purge drops the events before a time, chains what is left anew, and returns how many went. The sidecar goes first: a
// crash between the two leaves more events than anchors, which the next purge mends.
func (l *Log) Purge(before uint64) (purged uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := rewrite{tail: zeros, keys: l.keys}
	if err := p.run(l.dir, l.events, before); err != nil {
		return 0, errors.Join(err, p.discard())
	}
	if p.dropped == 0 {
		return 0, p.discard()
	}
	cut := filepath.Join(l.dir, cutoffFile)
	if err := os.WriteFile(cut+".new", []byte(strconv.FormatUint(max(before, l.cutoff), 10)+"\n"), 0o600); err != nil {
		return 0, errors.Join(err, p.discard())
	}
	for _, name := range []string{cutoffFile, chainFile, eventsFile} {
		if err := os.Rename(filepath.Join(l.dir, name+".new"), filepath.Join(l.dir, name)); err != nil {
			return 0, err
		}
	}
	l.cutoff = max(before, l.cutoff)
	l.events.Close()
	l.chain.Close()
	if err := l.reopen(); err != nil {
		return 0, err
	}
	l.rows, l.tail = p.rows, p.tail
	return p.dropped, l.measure()
}

// rewrite makes the two files anew beside the old ones.
type rewrite struct {
	files         []*os.File
	out           []*bufio.Writer
	rows, dropped uint64
	tail          string
	keys          *seal.Ring
}

func (p *rewrite) run(dir string, events *os.File, before uint64) error {
	for _, name := range []string{eventsFile, chainFile} {
		f, err := os.OpenFile(filepath.Join(dir, name+".new"), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		p.files = append(p.files, f)
		p.out = append(p.out, bufio.NewWriter(f))
	}
	err := eachLine(events, func(stored []byte, complete bool) error {
		line := opened(p.keys, stored)
		var e Event
		if err := json.Unmarshal(line, &e); err != nil || !complete || e.Timestamp < before {
			p.dropped++
			return nil
		}
		a := link(p.tail, p.rows, line, e)
		b, err := kit.JSON(a)
		if err != nil {
			return err
		}
		p.tail = a.Chain
		p.rows++
		_, err = p.out[0].Write(append(stored[:len(stored):len(stored)], '\n'))
		_, err2 := p.out[1].Write(append(p.keys.Line(b, LinePlace), '\n'))
		return errors.Join(err, err2)
	})
	for i, f := range p.files {
		err = errors.Join(err, p.out[i].Flush(), f.Sync(), f.Close())
	}
	return err
}

func (p *rewrite) discard() (err error) {
	for _, f := range p.files {
		f.Close()
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// finishPurge does the second half of a purge that a crash cut in two: the sidecar is new, and the events that belong to
// it lie beside the old ones.
func (l *Log) finishPurge() error {
	fresh := filepath.Join(l.dir, eventsFile+".new")
	if _, err := os.Stat(filepath.Join(l.dir, chainFile+".new")); err == nil {
		return errors.Join(removeIfThere(filepath.Join(l.dir, chainFile+".new")), removeIfThere(fresh)) // not begun
	}
	f, err := os.Open(fresh)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	chain, _, err := l.asItIs(chainFile)
	if err != nil {
		return removeIfThere(fresh)
	}
	defer chain.Close()
	if r, err := compare(f, chain, l.keys); err != nil || !r.Valid {
		return errors.Join(err, removeIfThere(fresh))
	}
	l.log.Warn("purge of the audit files cut short by a crash, finished")
	return os.Rename(fresh, filepath.Join(l.dir, eventsFile))
}

func removeIfThere(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
