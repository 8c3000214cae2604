package oplog

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
)

// Index is the index of a record in the replicated log.
type Index uint64

// DB is a database's number: assigned by Apply, the same on every node, never reused.
type DB uint32

// DefaultDB is the database called "default", which every cluster has from its first entry on.
const DefaultDB DB = 1

// Seq numbers the records of one database densely, from 1, in the order they were applied.
type Seq uint64

// Time is microseconds since 1970 UTC.
type Time int64

// At converts a clock reading.
func At(t time.Time) Time { return Time(t.UnixMicro()) }

// Seconds returns Unix seconds, as the protocols have them.
func (t Time) Seconds() float64 { return float64(t) / 1e6 }

// Time converts back.
func (t Time) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// NewID returns a new UUIDv7 in the spelling of every protocol: 36 characters, lower case.
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// HLC is a hybrid logical time: millis u64, logical u32, node u32, big-endian. Bytewise order is time order.
type HLC [16]byte

// MakeHLC builds a time from its parts.
func MakeHLC(millis uint64, logical, node uint32) (h HLC) {
	binary.BigEndian.PutUint64(h[:8], millis)
	binary.BigEndian.PutUint32(h[8:12], logical)
	binary.BigEndian.PutUint32(h[12:], node)
	return h
}

// Millis returns the wall-clock part.
func (h HLC) Millis() uint64 { return binary.BigEndian.Uint64(h[:8]) }

// Logical returns the part that orders events within one millisecond.
func (h HLC) Logical() uint32 { return binary.BigEndian.Uint32(h[8:12]) }

// Node returns the node that stamped the time.
func (h HLC) Node() uint32 { return binary.BigEndian.Uint32(h[12:]) }

// Add adds n to the logical part, and carries an overflow into the millis.
func (h HLC) Add(n uint32) HLC {
	l := uint64(h.Logical()) + uint64(n)
	return MakeHLC(h.Millis()+l>>32, uint32(l), h.Node())
}

// Less reports whether h is before o.
func (h HLC) Less(o HLC) bool { return string(h[:]) < string(o[:]) }

// Time returns the wall-clock part as a Time.
func (h HLC) Time() Time { return Time(h.Millis() * 1000) }

func (h HLC) String() string {
	return fmt.Sprintf("%d.%d@%d", h.Millis(), h.Logical(), h.Node())
}

// Clock stamps records on the leader. Its times always increase.
type Clock struct {
	node uint32
	now  func() time.Time

	mu   sync.Mutex
	last HLC
}

// NewClock makes the clock of a node. now is time.Now outside of tests.
func NewClock(node uint32, now func() time.Time) *Clock { return &Clock{node: node, now: now} }

// Next returns a time after every time this clock has seen, with room for n entries.
func (c *Clock) Next(n int) HLC {
	c.mu.Lock()
	defer c.mu.Unlock()
	h := MakeHLC(uint64(max(c.now().UnixMilli(), 0)), 0, c.node)
	if h.Millis() <= c.last.Millis() {
		next := c.last.Add(1)
		h = MakeHLC(next.Millis(), next.Logical(), c.node)
	}
	c.last = h.Add(uint32(max(n, 1) - 1))
	return h
}

// Observe makes the clock's next time later than h.
func (c *Clock) Observe(h HLC) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last.Less(h) {
		c.last = h
	}
}
