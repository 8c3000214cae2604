package audit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cairndb/cairn/oplog/seal"
)

type seen struct {
	size  int64
	inode uint64
}

func (l *Log) open() (err error) {
	if b, err := os.ReadFile(filepath.Join(l.dir, cutoffFile)); err == nil {
		l.cutoff, _ = strconv.ParseUint(strings.TrimSpace(string(b)), 10, 64)
	}
	if err := l.finishPurge(); err != nil {
		return err
	}
	if err := l.reopen(); err != nil {
		return err
	}
	if err = errors.Join(l.sealed(l.events), l.sealed(l.chain)); err == nil {
		err = l.load()
	}
	if err != nil {
		return errors.Join(err, l.events.Close(), l.chain.Close())
	}
	return nil
}

// sealed refuses lines that were written before this node encrypted.
func (l *Log) sealed(f *os.File) error {
	first := make([]byte, 1)
	if n, _ := f.ReadAt(first, 0); l.keys != nil && n == 1 && first[0] == '{' { // what cannot be read is found later
		return fmt.Errorf("%s: %w", f.Name(), seal.ErrPlain)
	}
	return nil
}

// ending is what reading one of the files came to.
type ending struct {
	lines uint64
	whole int64  // bytes of complete lines
	torn  bool   // something without a newline follows
	last  []byte // the last complete line
}

func readEnding(f *os.File, keys *seal.Ring) (e ending, err error) {
	err = eachLine(f, func(line []byte, complete bool) error {
		if !complete {
			e.torn = true
			return nil
		}
		e.lines++
		e.whole += int64(len(line)) + 1
		e.last = append(e.last[:0], line...)
		return nil
	})
	e.last = opened(keys, e.last)
	return e, err
}

// endings reads both files.
func (l *Log) endings() (ev, ch ending, err error) {
	if ev, err = readEnding(l.events, l.keys); err == nil {
		ch, err = readEnding(l.chain, l.keys)
	}
	return ev, ch, err
}

// continueFrom makes the last anchor the one that the next event's follows.
func (l *Log) continueFrom(chain ending) {
	l.tail, l.rows = zeros, chain.lines
	var a anchor
	if chain.lines > 0 && json.Unmarshal(chain.last, &a) == nil {
		l.tail, l.last = a.Chain, max(l.last, a.Timestamp)
	}
}

// load finds the tail. The last event may be torn, or whole but without its anchor: the process died between the two.
func (l *Log) load() error {
	ev, ch, err := l.endings()
	if err != nil {
		return err
	}
	if ch.torn {
		l.log.Warn("audit anchor torn by a crash, cut off", "index", ch.lines)
		if err := l.chain.Truncate(ch.whole); err != nil {
			return err
		}
	}
	if ev.torn && ch.lines == ev.lines {
		l.log.Warn("audit event torn by a crash, cut off", "index", ev.lines)
		if err := l.events.Truncate(ev.whole); err != nil {
			return err
		}
	}
	l.continueFrom(ch)
	if !ev.torn && ev.lines == ch.lines+1 {
		var e Event
		if json.Unmarshal(ev.last, &e) == nil {
			l.log.Warn("audit event without its anchor after a crash, anchored", "index", ch.lines)
			if err := l.anchor(ev.last, e); err != nil {
				return err
			}
			return l.measure()
		}
	}
	if ev.lines != ch.lines {
		l.log.Error("audit files do not belong together: nothing is appended", "events", ev.lines, "anchors", ch.lines)
		return nil // was stays zero: every append looks again, and refuses
	}
	return l.measure()
}

// measure notes how long the files are, and which they are.
func (l *Log) measure() error {
	for i, name := range []string{eventsFile, chainFile} {
		s, err := stat(filepath.Join(l.dir, name))
		if err != nil {
			return err
		}
		l.was[i] = s
	}
	return nil
}

func stat(path string) (seen, error) {
	i, err := os.Stat(path)
	if err != nil {
		return seen{}, err
	}
	s := seen{size: i.Size()}
	if st, ok := i.Sys().(*syscall.Stat_t); ok {
		s.inode = st.Ino
	}
	return s, nil
}

// untouched refuses when another process has made the files differ in length.
func (l *Log) untouched() error {
	before := l.was
	if err := l.measure(); err != nil {
		return err
	}
	if l.was == before {
		return nil
	}
	l.was = before // until they agree, every append looks again
	l.events.Close()
	l.chain.Close()
	if err := l.reopen(); err != nil {
		return err
	}
	ev, ch, err := l.endings()
	if err != nil {
		return err
	}
	if ev.lines != ch.lines || ev.torn || ch.torn {
		return ErrLengths
	}
	l.continueFrom(ch)
	return l.measure()
}

func (l *Log) reopen() (err error) {
	const flags = os.O_RDWR | os.O_CREATE | os.O_APPEND
	if l.events, err = os.OpenFile(filepath.Join(l.dir, eventsFile), flags, 0o600); err != nil {
		return err
	}
	if l.chain, err = os.OpenFile(filepath.Join(l.dir, chainFile), flags, 0o600); err != nil {
		return errors.Join(err, l.events.Close())
	}
	return nil
}
