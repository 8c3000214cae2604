// Package past is the last day of one node in memory: how many requests it answered and how fast, how far it lagged,
// how large it was, and when it started and elected. It never touches the disk: a restart begins it again, with the
// mark of that start.
//
// A Ring takes a sample every half minute and has room for 2,880 of them, about 150 KiB, whatever happens. Its
// methods may be called from any goroutine.
package past

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	Every    = 30 * time.Second  // between two samples
	Kept     = 24 * time.Hour    // for as long
	Samples  = int(Kept / Every) // at most
	look     = time.Second       // how often the term is looked at, so that an election is marked when it was
	maxMarks = 200               // the newest; more elections than that in a day are a fault that needs no more marks
)

// A Column is one of the numbers of a sample.
type Column int

const (
	Requests Column = iota // a second
	Refused                // a second
	Writes                 // log entries a second
	Median                 // milliseconds, of requests
	Slowest                // milliseconds, the 99th percentile of requests
	Commit                 // milliseconds, the median
	Lag                    // entries acknowledged and not applied here
	Unfound                // entries applied and not yet findable
	Disk                   // bytes of the state's files
	Heap                   // bytes of live objects and garbage
	Columns
)

// worst says which columns a thinned series shows the greatest value of; of the others it shows the mean.
var worst = [Columns]bool{Median: true, Slowest: true, Commit: true, Lag: true, Unfound: true}

// Values are a sample. NaN is a number that was not known.
type Values [Columns]float32

// A Mark is something that happened between samples.
type Mark struct {
	At     time.Time
	Kind   string // start, election
	Term   uint64
	Leader uint32
}

// Standing holds the leader and its term, as far as the node knows. Leader 0 means that it knows none.
type Standing struct {
	Term   uint64
	Leader uint32
}

type sample struct {
	at     int64 // Unix seconds
	values Values
}

// A Ring is a node's last day.
type Ring struct {
	mu    sync.Mutex
	ring  []sample // Samples at most, oldest first
	marks []Mark   // oldest first
}

// New is a day that begins now.
func New() *Ring {
	return &Ring{ring: make([]sample, 0, Samples), marks: []Mark{{At: time.Now(), Kind: "start"}}}
}

// Run takes samples until ctx ends. take and standing are called from this goroutine alone.
func (r *Ring) Run(ctx context.Context, take func() Values, standing func() Standing) error {
	samples, looks := time.NewTicker(Every), time.NewTicker(look)
	defer samples.Stop()
	defer looks.Stop()
	var last Standing
	first := true // the first sample comes with the first look, so that there is something to see
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-looks.C:
			if first {
				first = false
				r.add(sample{time.Now().Unix(), take()})
			}
			if now := standing(); now.Leader != 0 && now != last {
				last = now
				r.mark(Mark{At: time.Now(), Kind: "election", Term: now.Term, Leader: now.Leader})
			}
		case <-samples.C:
			r.add(sample{time.Now().Unix(), take()})
		}
	}
}

func (r *Ring) mark(m Mark) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = within(r.marks, maxMarks, m)
}

func (r *Ring) add(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring = within(r.ring, Samples, s)
}

// within adds one, and drops the oldest where that is one too many.
func within[T any](list []T, most int, x T) []T {
	if len(list) == most {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, x)
}

// A Series is samples, oldest first: a time and a value of each column for each.
type Series struct {
	At     []int64 // Unix seconds, of the last sample that a point stands for
	Values []Values
	Marks  []Mark
}

// Since returns what was measured since a time, in at most the given number of points: when there are more samples, it
// combines neighbours.
func (r *Ring) Since(from time.Time, most int) Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []sample
	for _, s := range r.ring { // all of them: a clock that was set back leaves them out of order
		if s.at >= from.Unix() {
			all = append(all, s)
		}
	}
	var out Series
	for part := range slices.Chunk(all, max(1, (len(all)+most-1)/max(1, most))) {
		out.At, out.Values = append(out.At, part[len(part)-1].at), append(out.Values, together(part))
	}
	for _, m := range r.marks {
		if !m.At.Before(from) {
			out.Marks = append(out.Marks, m)
		}
	}
	return out
}

// together is samples as one point. What some of them did not know counts for nothing.
func together(all []sample) (v Values) {
	for c := range v {
		sum, n, top := 0.0, 0, math.Inf(-1)
		for _, s := range all {
			if x := float64(s.values[c]); !math.IsNaN(x) {
				sum, n, top = sum+x, n+1, max(top, x)
			}
		}
		switch {
		case n == 0:
			v[c] = float32(math.NaN())
		case worst[c]:
			v[c] = float32(top)
		default:
			v[c] = float32(sum / float64(n))
		}
	}
	return v
}
