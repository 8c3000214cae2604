// Package past keeps statistics of a node's last day in memory: its requests and latencies, its lag, its size, its
// start and its elections. It never touches the disk: a restart begins with an empty ring and a mark of the start.
//
// A Ring takes a sample every half minute. It has room for 2,880 of them, about 150 KiB. Its methods may be called
// from any goroutine.
package past

import (
	"context"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	Every            = 30 * time.Second  // interval of samples
	Kept             = 24 * time.Hour    // age of the oldest sample
	Samples          = int(Kept / Every) // capacity of a Ring
	leaderCheckEvery = time.Second       // interval of checks for elections; bounds the error of their times
	maxMarks         = 200               // marks that are kept; more elections in a day are a fault that needs no more marks
)

// A Column is a value of a sample.
type Column int

const (
	Requests Column = iota // requests a second
	Refused                // rejections a second
	Writes                 // log entries a second
	Median                 // median latency of requests in milliseconds
	Slowest                // 99th percentile of requests in milliseconds
	Commit                 // median latency of commits in milliseconds
	Lag                    // entries acknowledged but not applied here
	Unfound                // entries applied but not yet indexed
	Disk                   // bytes of the state's files
	Heap                   // bytes of live objects and garbage
	Columns
)

// showsMax marks the columns of which a combined point has the maximum. Of the others it has the mean.
var showsMax = [Columns]bool{Median: true, Slowest: true, Commit: true, Lag: true, Unfound: true}

// Values are the columns of a sample. NaN is an unknown value.
type Values [Columns]float32

// A Mark is an event between samples.
type Mark struct {
	At     time.Time
	Kind   string // start, election
	Term   uint64
	Leader uint32
}

// A Standing is the leader and its term, as far as the node knows. Leader 0 means that none is known.
type Standing struct {
	Term   uint64
	Leader uint32
}

type sample struct {
	at     int64 // Unix seconds
	values Values
}

// A Ring holds the samples and marks of a node's last day.
type Ring struct {
	mu    sync.Mutex
	ring  []sample // Samples at most, oldest first
	marks []Mark   // oldest first
}

// New returns a ring with a mark of the start.
func New() *Ring {
	return &Ring{ring: make([]sample, 0, Samples), marks: []Mark{{At: time.Now(), Kind: "start"}}}
}

// Run takes samples until ctx ends. It calls take and standing only from this goroutine.
func (r *Ring) Run(ctx context.Context, take func() Values, standing func() Standing) error {
	samples, looks := time.NewTicker(Every), time.NewTicker(leaderCheckEvery)
	defer samples.Stop()
	defer looks.Stop()
	var last Standing
	first := true // take the first sample early, so that the ring is not empty
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
	r.marks = appendBounded(r.marks, maxMarks, m)
}

func (r *Ring) add(s sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ring = appendBounded(r.ring, Samples, s)
}

// appendBounded appends an element, and drops the oldest if the list is full.
func appendBounded[T any](list []T, most int, x T) []T {
	if len(list) == most {
		list = slices.Delete(list, 0, 1)
	}
	return append(list, x)
}

// A Series is a list of points, oldest first, with the marks among them.
type Series struct {
	At     []int64 // Unix seconds of the last sample of each point
	Values []Values
	Marks  []Mark
}

// Since returns the samples since a time, in at most the given number of points. It combines neighbours if there are
// more.
func (r *Ring) Since(from time.Time, most int) Series {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []sample
	for _, s := range r.ring { // scan all: they are out of order if the clock was set back
		if s.at >= from.Unix() {
			all = append(all, s)
		}
	}
	var out Series
	for part := range slices.Chunk(all, max(1, (len(all)+most-1)/max(1, most))) {
		out.At, out.Values = append(out.At, part[len(part)-1].at), append(out.Values, combine(part))
	}
	for _, m := range r.marks {
		if !m.At.Before(from) {
			out.Marks = append(out.Marks, m)
		}
	}
	return out
}

// combine returns samples as one point. Unknown values are ignored.
func combine(all []sample) (v Values) {
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
		case showsMax[c]:
			v[c] = float32(top)
		default:
			v[c] = float32(sum / float64(n))
		}
	}
	return v
}
