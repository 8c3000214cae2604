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
	if err = errors.Join(l.checkSealed(eventsFile, l.events), l.checkSealed(chainFile, l.chain)); err == nil {
		err = l.recoverTail()
	}
	if err != nil {
		return errors.Join(err, l.close())
	}
	return nil
}

func (l *Log) path(name string) string { return filepath.Join(l.dir, name) }

// pair holds the two files.
type pair struct{ events, chain *journal.File }

// openPair opens the files, or, with a suffix, the files of a purge next to them.
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

// checkSealed rejects a file with plain lines on a node that encrypts. It ignores read errors, because recoverTail
// reports them.
func (l *Log) checkSealed(name string, f *journal.File) error {
	for line, err := range f.Lines() {
		if err == nil && l.keys != nil && line[0] == '{' {
			return fmt.Errorf("%s: %w", l.path(name), seal.ErrPlain)
		}
		break
	}
	return nil
}

// fileEnd describes the end of one of the files.
type fileEnd struct {
	lines         uint64
	completeBytes int64  // bytes of complete lines
	torn          bool   // an incomplete line follows
	last          []byte // the last complete line
}

func (l *Log) readEnd(f *journal.File) (e fileEnd, err error) {
	for line, err := range f.Lines() {
		if err != nil {
			return e, err
		}
		if e.torn = !bytes.HasSuffix(line, []byte("\n")); !e.torn {
			e.lines++
			e.completeBytes += int64(len(line))
			e.last = append(e.last[:0], line...)
		}
	}
	e.last = openLine(l.keys, e.last)
	return e, nil
}

// readEnds reads the ends of both files, and sets the hash, time and index of the last anchor.
func (l *Log) readEnds() (ev, ch fileEnd, err error) {
	if ev, err = l.readEnd(l.events); err == nil {
		ch, err = l.readEnd(l.chain)
	}
	l.lastHash, l.rows = zeroHash, ch.lines
	var a anchor
	if err == nil && ch.lines > 0 && json.Unmarshal(ch.last, &a) == nil {
		l.lastHash, l.lastTime = a.Chain, max(l.lastTime, a.Timestamp)
	}
	return ev, ch, err
}

// recoverTail repairs the end of the files after a crash. An incomplete line is cut off. An event without its anchor
// gets one. If the files still differ in length, nothing is appended.
func (l *Log) recoverTail() error {
	ev, ch, err := l.readEnds()
	if err == nil && ch.torn {
		l.log.Warn("audit anchor torn by a crash, cut off", "index", ch.lines)
		err = l.chain.Cut(ch.completeBytes)
	}
	if err == nil && ev.torn && ch.lines == ev.lines {
		l.log.Warn("audit event torn by a crash, cut off", "index", ev.lines)
		err = l.events.Cut(ev.completeBytes)
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
	if l.consistent = err == nil && ev.lines == ch.lines; !l.consistent && err == nil {
		l.log.Error("audit files do not belong together: nothing is appended", "events", ev.lines, "anchors", ch.lines)
	}
	return err
}

// checkUnchanged returns an error if another process has changed the files and their lengths differ. While they
// differ, every append checks again.
func (l *Log) checkUnchanged() error {
	events, err := l.events.Changed()
	if err != nil {
		return err
	}
	chain, err := l.chain.Changed()
	if err != nil || l.consistent && !events && !chain {
		return err
	}
	l.consistent = false
	reopened, err := l.openPair(journal.Open, "")
	if err != nil {
		return err
	}
	_ = l.close() // another process may have replaced the files at the paths
	l.pair = reopened
	ev, ch, err := l.readEnds()
	if err != nil {
		return err
	}
	if ev.lines != ch.lines || ev.torn || ch.torn {
		return ErrLengths
	}
	l.consistent = true
	return nil
}
