package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/local/covenant/journal"
	"github.com/cairndb/cairn/oplog/seal"
)

func (l *Log) open() (err error) {
	if b, err := os.ReadFile(l.path(cutoffFile)); err == nil {
		l.cutoff, _ = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	if err := l.finishPurge(); err != nil {
		return err
	}
	if l.pair, err = l.openPair(journal.Open, ""); err != nil {
		return err
	}
	if err = errors.Join(l.sealed(eventsFile, l.events), l.sealed(chainFile, l.chain)); err == nil {
		err = l.load()
	}
	if err != nil {
		return errors.Join(err, l.close())
	}
	return nil
}

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

// pair is the two files.
type pair struct{ events, chain *journal.File }

// openPair opens the files, or, with a suffix, others next to them.
func (l *Log) openPair(open func(path, place string, keys *seal.Ring) (*journal.File, error), suffix string) (p pair, err error) {
	if p.events, err = open(l.path(eventsFile+suffix), LinePlace, l.keys); err != nil {
		return p, err
	}
	if p.chain, err = open(l.path(chainFile+suffix), LinePlace, l.keys); err != nil {
		return p, errors.Join(err, p.events.Close())
	}
	return p, nil
}

func (p pair) close() error { return errors.Join(p.events.Close(), p.chain.Close()) }

// sealed rejects lines that were written before this node encrypted. A file that cannot be read is found later.
func (l *Log) sealed(name string, f *journal.File) error {
	for line, err := range f.Lines() {
		if err == nil && l.keys != nil && line[0] == '{' {
			return fmt.Errorf("%s: %w", l.path(name), seal.ErrPlain)
		}
		break
	}
	return nil
}

// ending holds the result of reading one of the files.
type ending struct {
	lines uint64
	whole int64  // bytes of complete lines
	torn  bool   // something without a newline follows
	last  []byte // the last complete line
}

func (l *Log) ending(f *journal.File) (e ending, err error) {
	for line, err := range f.Lines() {
		if err != nil {
			return e, err
		}
		if e.torn = !bytes.HasSuffix(line, []byte("\n")); !e.torn {
			e.lines++
			e.whole += int64(len(line))
			e.last = append(e.last[:0], line...)
		}
	}
	e.last = opened(l.keys, e.last)
	return e, nil
}

// endings reads both files, and makes the last anchor the one that the next event's follows.
func (l *Log) endings() (ev, ch ending, err error) {
	if ev, err = l.ending(l.events); err == nil {
		ch, err = l.ending(l.chain)
	}
	l.tail, l.rows = zeros, ch.lines
	var a anchor
	if err == nil && ch.lines > 0 && json.Unmarshal(ch.last, &a) == nil {
		l.tail, l.last = a.Chain, max(l.last, a.Timestamp)
	}
	return ev, ch, err
}

// load finds the tail. The last event may be torn, or whole but without its anchor: the process died between the two.
func (l *Log) load() error {
	ev, ch, err := l.endings()
	if err == nil && ch.torn {
		l.log.Warn("audit anchor torn by a crash, cut off", "index", ch.lines)
		err = l.chain.Cut(ch.whole)
	}
	if err == nil && ev.torn && ch.lines == ev.lines {
		l.log.Warn("audit event torn by a crash, cut off", "index", ev.lines)
		err = l.events.Cut(ev.whole)
	}
	if err != nil {
		return err
	}
	var e Event
	if !ev.torn && ev.lines == ch.lines+1 && json.Unmarshal(ev.last, &e) == nil {
		l.log.Warn("audit event without its anchor after a crash, anchored", "index", ch.lines)
		ch.lines++
		err = l.anchor(ev.last, e)
	}
	if l.agree = err == nil && ev.lines == ch.lines; !l.agree && err == nil {
		l.log.Error("audit files do not belong together: nothing is appended", "events", ev.lines, "anchors", ch.lines)
	}
	return err
}

// untouched rejects when another process has made the files differ in length. Until they agree, every append looks
// again.
func (l *Log) untouched() error {
	events, err := l.events.Changed()
	if err != nil {
		return err
	}
	chain, err := l.chain.Changed()
	if err != nil || l.agree && !events && !chain {
		return err
	}
	l.agree = false
	there, err := l.openPair(journal.Open, "")
	if err != nil {
		return err
	}
	_ = l.close() // other files may be at their paths now
	l.pair = there
	ev, ch, err := l.endings()
	if err != nil {
		return err
	}
	if ev.lines != ch.lines || ev.torn || ch.torn {
		return ErrLengths
	}
	l.agree = true
	return nil
}
