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
// The cost of an append does not depend on the length of the files, because the last hash is in memory. Before each
// append, the sizes and inodes of the files are compared with those after the last write. If they differ, another
// process has written, and the log rejects appends until the two files have the same number of lines. It never makes
// anchors for lines that it did not write.
//
// Times never decrease along the file, even if the clock goes back. Lines are written at once and synced within a
// tenth of a second. Only one process may open the files.
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

// LinePlace is the associated data of the sealed lines of both files.
const LinePlace = "covenant audit"

// openLine decrypts a line and removes its newline. A line that cannot be decrypted is returned unchanged, so that
// Verify reports it as changed.
func openLine(keys *seal.Ring, line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	if plain, err := keys.OpenLine(line, LinePlace); err == nil {
		return plain
	}
	return line
}

// Event is one line of the event file.
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

// ErrLengths rejects an append while the two files have different numbers of lines.
var ErrLengths = errors.New("audit files changed behind the log: their lengths differ")

var zeroHash = strings.Repeat("0", 64)

const (
	eventsFile = "events.jsonl"
	chainFile  = "events.chain.jsonl"
	cutoffFile = "purged-before"
	syncEvery  = 100 * time.Millisecond
)

// Log is the pair of files. Its methods may be called from any goroutine.
type Log struct {
	dir  string
	keys *seal.Ring // seals the lines; nil: they are plain
	log  *slog.Logger

	done chan struct{}
	wg   sync.WaitGroup

	mu sync.Mutex
	pair
	consistent bool // the files had the same number of lines at the last comparison
	rows       uint64
	lastTime   uint64 // newest timestamp
	lastHash   string // newest chain hash
	cutoff     uint64 // of the last purge
	dirty      bool
}

// Open opens the log and repairs the end of the files after a crash.
func Open(dir string, keys *seal.Ring, log *slog.Logger) (*Log, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l := &Log{dir: dir, keys: keys, log: log, done: make(chan struct{})}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("audit: %w", err)
	}
	l.wg.Go(l.syncLoop)
	return l, nil
}

// Append writes an event. Its time is now, or that of the last event if the clock went back.
func (l *Log) Append(id string, now time.Time, issuer, kind any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.checkUnchanged(); err != nil {
		return err
	}
	e := Event{ID: id, Timestamp: max(uint64(now.UnixMilli()), l.lastTime)}
	line, err := kit.JSON(kit.Object{"id", e.ID, "timestamp_ms", e.Timestamp, "issuer", issuer, "kind", kind})
	if err != nil {
		return err
	}
	size := l.events.Size()
	if err := l.write(line, e); err != nil {
		// An event without its anchor would make the files differ permanently.
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
	a := makeAnchor(l.lastHash, l.rows, line, e)
	b, err := kit.JSON(a)
	if err == nil {
		err = l.chain.Append(b)
	}
	if err == nil {
		l.lastHash, l.lastTime, l.rows = a.Chain, e.Timestamp, l.rows+1
	}
	return err
}

func makeAnchor(previous string, index uint64, line []byte, e Event) anchor {
	h := sha256.Sum256(line)
	event := hex.EncodeToString(h[:])
	c := sha256.Sum256([]byte(previous + "\n" + event))
	return anchor{Index: index, EventID: e.ID, Timestamp: e.Timestamp, Event: event, Previous: previous, Chain: hex.EncodeToString(c[:])}
}

// syncLoop syncs the files at intervals.
func (l *Log) syncLoop() {
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
	// The lock is not held: a purge may close the files meanwhile, but it syncs the files that replace them.
	err := errors.Join(events.Sync(), chain.Sync())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// Close syncs and closes the files.
func (l *Log) Close() error {
	close(l.done)
	l.wg.Wait()
	err := l.sync()
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(err, l.close())
}

// Cutoff returns the time of the last purge: earlier events were removed. 0 means never.
func (l *Log) Cutoff() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cutoff
}

// Rows returns the number of events.
func (l *Log) Rows() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.rows
}
