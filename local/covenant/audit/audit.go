// Package audit records one node's requests and rejections in an event file and its hash chain.
//
// events.jsonl holds one compact JSON event a line. events.chain.jsonl holds one anchor for each:
//
//	{"index":0,"event_id":…,"timestamp_ms":…,"event_hash_hex":H,"previous_hash_hex":P,"chain_hash_hex":C}
//
// H is the SHA-256 of the event's line without its newline; P the chain hash of the anchor before, 64 zeros for the
// first; C the SHA-256 of the text P + "\n" + H. All are lower-case hex. Changing a line breaks its anchor and every
// later one. On a node that encrypts each line of both files is sealed, and the hashes are of the plain lines.
//
// Appending costs the same whatever the length: the tail is kept in memory, and the files' sizes and inodes are
// compared with those of our last write. When they differ another process has written, and the log takes nothing more
// until the two files are of one length again; it never makes anchors for lines it did not write.
//
// Times never go back along the file, whatever the clock does. Lines are given to the system at once and to the disk
// within a tenth of a second. The package decides nothing: covenant calls it from any goroutine for every row. One
// process has the files.
package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/seal"
)

// LinePlace is the place that the lines of both files are sealed for.
const LinePlace = "covenant audit"

// opened is a line as it was written, without its newline. One that does not open is not an event: it is reported
// like any other that was changed.
func opened(keys *seal.Ring, line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if plain, err := keys.OpenLine(line, LinePlace); err == nil {
		return plain
	}
	return line
}

// An Event is one line.
type Event struct {
	ID        string          `json:"id"`
	Timestamp uint64          `json:"timestamp_ms"`
	Issuer    json.RawMessage `json:"issuer"`
	Kind      json.RawMessage `json:"kind"`
}

type anchor struct {
	Index     uint64 `json:"index"`
	EventID   string `json:"event_id"`
	Timestamp uint64 `json:"timestamp_ms"`
	Event     string `json:"event_hash_hex"`
	Previous  string `json:"previous_hash_hex"`
	Chain     string `json:"chain_hash_hex"`
}

// ErrLengths is the refusal to append behind files that do not belong together.
var ErrLengths = errors.New("audit files changed behind the log: their lengths differ")

var zeros = strings.Repeat("0", 64)

const (
	eventsFile = "events.jsonl"
	chainFile  = "events.chain.jsonl"
	cutoffFile = "purged-before"
	syncEvery  = 100 * time.Millisecond
)

// Log is the pair of files. Its methods may be called from any goroutine.
type Log struct {
	dir  string
	keys *seal.Ring // what lines are sealed with; nil: they are not
	log  *slog.Logger

	done chan struct{}
	wg   sync.WaitGroup

	mu sync.Mutex
	pair
	agree  bool // the files had equally many lines when they were compared last; else nothing is appended
	rows   uint64
	last   uint64 // newest timestamp
	tail   string // newest chain hash
	cutoff uint64 // of the last purge
	dirty  bool
}

// Open opens the log, mending what a crash of our own can have left at its end.
func Open(dir string, keys *seal.Ring, log *slog.Logger) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{dir: dir, keys: keys, log: log, done: make(chan struct{})}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l.wg.Go(l.syncing)
	return l, nil
}

// Append writes an event. Its id is the caller's; its time is now, or the last one's when the clock went back.
func (l *Log) Append(id string, now time.Time, issuer, kind any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.untouched(); err != nil {
		return err
	}
	e := Event{ID: id, Timestamp: max(uint64(now.UnixMilli()), l.last)}
	line, err := kit.JSON(kit.Object{"id", e.ID, "timestamp_ms", e.Timestamp, "issuer", issuer, "kind", kind})
	if err != nil {
		return err
	}
	size := l.events.Size()
	if err := l.write(line, e); err != nil {
		// Without its anchor the event must not stay: the files would never agree again.
		return errors.Join(err, l.events.Cut(size))
	}
	l.dirty = true
	return nil
}

// write appends an event's line and its anchor.
func (l *Log) write(line []byte, e Event) error {
	if err := l.events.Append(line); err != nil {
		return err
	}
	return l.anchor(line, e)
}

func (l *Log) anchor(line []byte, e Event) error {
	a := link(l.tail, l.rows, line, e)
	b, err := kit.JSON(a)
	if err == nil {
		err = l.chain.Append(b)
	}
	if err == nil {
		l.tail, l.last, l.rows = a.Chain, e.Timestamp, l.rows+1
	}
	return err
}

func link(previous string, index uint64, line []byte, e Event) anchor {
	h := sha256.Sum256(line)
	event := hex.EncodeToString(h[:])
	c := sha256.Sum256([]byte(previous + "\n" + event))
	return anchor{Index: index, EventID: e.ID, Timestamp: e.Timestamp, Event: event, Previous: previous, Chain: hex.EncodeToString(c[:])}
}

// syncing gives written lines to the disk, a batch at a time.
func (l *Log) syncing() {
	for range pause.Ticks(l.done, syncEvery) {
		if err := l.sync(); err != nil {
			l.log.Error("audit files not synced", "err", err)
		}
	}
}

func (l *Log) sync() error {
	l.mu.Lock()
	if !l.dirty {
		l.mu.Unlock()
		return nil
	}
	l.dirty = false
	events, chain := l.events, l.chain
	l.mu.Unlock()
	// Without the lock: a purge may close the files meanwhile, and syncs its own files.
	err := errors.Join(events.Sync(), chain.Sync())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Close syncs and lets go of the files.
func (l *Log) Close() error {
	close(l.done)
	l.wg.Wait()
	err := l.sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(err, l.close())
}

// Cutoff is the time before which a purge dropped events; 0 for never.
func (l *Log) Cutoff() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cutoff
}

// Rows counts the events.
func (l *Log) Rows() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows
}
