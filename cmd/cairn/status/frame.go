package status

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// A sample is the state of a cluster at one time: the status from the queried node, and the metrics of each reachable
// member.
type sample struct {
	at      time.Time
	cluster api.ClusterStatus
	metrics map[uint32]readings
	log     []string // newest log lines of the queried node, if shown
}

// readings holds the metrics of a node; nil for a node that does not answer.
type readings cli.Metrics

func (v *top) takeSample(ctx context.Context, tails bool) (l sample, err error) {
	l = sample{at: time.Now(), metrics: map[uint32]readings{}}
	if err := v.t.Cluster(ctx, &l.cluster); err != nil {
		return l, err
	}
	asked, err := v.t.URL(ctx)
	if err != nil {
		return l, err
	}
	scheme, _, _ := strings.Cut(asked, "://")
	var mu sync.Mutex
	var answered sync.WaitGroup
	ask := func(id uint32, at string) {
		answered.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, max(v.every, time.Second))
			defer cancel()
			m, err := v.t.Metrics(ctx, at)
			if err != nil {
				return // its row then shows no values
			}
			mu.Lock()
			defer mu.Unlock()
			l.metrics[id] = readings(m)
		})
	}
	ask(l.cluster.NodeID, asked)
	for _, p := range l.cluster.Peers {
		ask(p.NodeID, scheme+"://"+strings.TrimPrefix(strings.TrimPrefix(p.HTTP, "https://"), "http://"))
	}
	if tails {
		l.log = v.lastEntries(ctx, asked)
	}
	answered.Wait()
	return l, nil
}

// A frame is the output for one interval: the rates between two samples.
type frame struct {
	Cluster   string    `json:"cluster_id"`
	Condition string    `json:"condition"`
	Leader    *uint32   `json:"leader_id"`
	Term      uint64    `json:"current_term"`
	Nodes     []nodeRow `json:"nodes"`
	Log       []string  `json:"-"`
}

// A nodeRow is the row of a member. Unknown numbers are NaN, and null in JSON.
type nodeRow struct {
	NodeID    uint32 `json:"node_id"`
	State     string `json:"state"`
	Reachable bool   `json:"reachable"`
	Writes    number `json:"writes_per_second"`
	WriteP50  number `json:"write_p50_ms"`
	WriteP99  number `json:"write_p99_ms"`
	Recalls   number `json:"recalls_per_second"`
	RecallP50 number `json:"recall_p50_ms"`
	RecallP99 number `json:"recall_p99_ms"`
	Lag       number `json:"apply_lag_entries"`
	IndexLag  number `json:"index_lag_entries"`
	Busy      busy   `json:"busy"`
	Slow      number `json:"slow_operations"`
	DiskFree  number `json:"disk_free_bytes"`
	Tables    number `json:"state_bytes"`
}

// busy holds the utilization of each serial step of a write: the share of the interval in which it worked.
type busy struct {
	Log   number `json:"log"`
	Apply number `json:"apply"`
	Index number `json:"index"`
}

// busiest returns the step with the highest utilization, and its share.
func (b busy) busiest() (step string, share number) {
	step, share = "log", b.Log
	if b.Apply > share {
		step, share = "apply", b.Apply
	}
	if b.Index > share {
		step, share = "index", b.Index
	}
	return step, share
}

// number is a number that may be unknown (NaN).
type number float64

var unknown = number(math.NaN())

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	if n == number(math.Trunc(float64(n))) {
		return strconv.AppendFloat(nil, float64(n), 'f', 0, 64), nil // a count or a number of bytes, with all its digits
	}
	return strconv.AppendFloat(nil, float64(n), 'g', 6, 64), nil
}

// frameSince returns the frame from an earlier sample to this one. With an empty earlier sample the rates are
// unknown.
func (l sample) frameSince(e sample) frame {
	c := l.cluster
	f := frame{Cluster: c.Cluster, Condition: c.Condition, Leader: c.LeaderID, Term: c.CurrentTerm, Log: l.log}
	seconds := l.at.Sub(e.at).Seconds()
	for _, p := range c.Members() {
		f.Nodes = append(f.Nodes, l.row(e, p.NodeID, p.State, p.Reachable, seconds))
	}
	f.sortRows(0, false)
	return f
}

// The metric and its stages for the latencies: from proposal to apply for writes, and the search for recalls.
const (
	writeStage  = `{stage="commit"}`
	recallStage = `{stage="search"}`
	stageName   = "cairn_stage_seconds"
)

func (l sample) row(e sample, id uint32, state string, reachable bool, seconds float64) nodeRow {
	now, then := l.metrics[id], e.metrics[id]
	r := nodeRow{NodeID: id, State: state, Reachable: reachable, Lag: now.value("cairn_apply_lag_entries"),
		IndexLag: now.value("cairn_index_lag_entries"),
		DiskFree: now.value("cairn_disk_free_bytes"), Tables: now.value("cairn_store_table_bytes"),
		Slow: now.increase(then, "cairn_slow_operations_total")}
	share := func(stage string) number {
		return now.increase(then, `cairn_stage_busy_seconds_total{stage="`+stage+`"}`) / number(seconds)
	}
	r.Busy = busy{share("log"), share("apply"), share("index")}
	rate := func(stage string) number { return now.increase(then, stageName+"_count"+stage) / number(seconds) }
	r.Writes, r.WriteP50, r.WriteP99 = rate(writeStage), now.quantile(then, writeStage, .5), now.quantile(then, writeStage, .99)
	r.Recalls, r.RecallP50, r.RecallP99 = rate(recallStage), now.quantile(then, recallStage, .5), now.quantile(then, recallStage, .99)
	return r
}

func (m readings) value(name string) number {
	if n, ok := m[name]; ok {
		return number(n)
	}
	return unknown
}

// increase returns the increase of a counter. A missing series counts as 0. A counter that fell was reset by a
// restart, so its whole value is the increase.
func (m readings) increase(then readings, name string) number {
	if m == nil || then == nil {
		return unknown
	}
	if n := m[name] - then[name]; n >= 0 {
		return number(n)
	}
	return number(m[name])
}

// quantile returns a quantile of the observations since then, in ms: the upper bound of its histogram bucket.
func (m readings) quantile(then readings, stage string, q float64) number {
	type bucket struct{ le, n float64 }
	var buckets []bucket
	for name := range m {
		rest, ok := strings.CutPrefix(name, stageName+"_bucket"+strings.TrimSuffix(stage, "}")+`,le="`)
		if !ok {
			continue
		}
		if le, err := strconv.ParseFloat(strings.TrimSuffix(rest, `"}`), 64); err == nil {
			buckets = append(buckets, bucket{le, float64(m.increase(then, name))})
		}
	}
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Compare(a.le, b.le) })
	for i, b := range buckets {
		all := buckets[len(buckets)-1].n
		if all > 0 && b.n >= q*all {
			if math.IsInf(b.le, 1) && i > 0 {
				b.le = buckets[i-1].le // above the last finite bucket
			}
			return number(b.le * 1000)
		}
	}
	return unknown
}

// A topColumn is a column of top with its sort key.
type topColumn struct {
	head string
	show func(nodeRow) string
	by   func(nodeRow) number
}

// numberColumn returns a column of numbers.
func numberColumn(head string, of func(nodeRow) number, show func(float64) string) topColumn {
	return topColumn{head, func(r nodeRow) string {
		if n := float64(of(r)); !math.IsNaN(n) {
			return show(n)
		}
		return "-"
	}, of}
}

func formatInteger(n float64) string { return fmt.Sprintf("%.0f", n) }
func formatTenths(n float64) string  { return fmt.Sprintf("%.1f", n) }
func formatSize(n float64) string    { return cli.Size(int64(n)) }

var topColumns = []topColumn{
	{"NODE", func(r nodeRow) string { return strconv.Itoa(int(r.NodeID)) }, func(r nodeRow) number { return number(r.NodeID) }},
	{"ROLE", func(r nodeRow) string {
		if !r.Reachable {
			return "unreachable"
		}
		return r.State
	}, func(r nodeRow) number {
		switch {
		case !r.Reachable:
			return 0
		case r.State == "Leader":
			return 2
		}
		return 1
	}},
	numberColumn("WRITES/S", func(r nodeRow) number { return r.Writes }, formatInteger),
	numberColumn("P50 MS", func(r nodeRow) number { return r.WriteP50 }, formatTenths),
	numberColumn("P99 MS", func(r nodeRow) number { return r.WriteP99 }, formatTenths),
	numberColumn("RECALLS/S", func(r nodeRow) number { return r.Recalls }, formatInteger),
	numberColumn("P50 MS", func(r nodeRow) number { return r.RecallP50 }, formatTenths),
	numberColumn("P99 MS", func(r nodeRow) number { return r.RecallP99 }, formatTenths),
	numberColumn("TO APPLY", func(r nodeRow) number { return r.Lag }, formatInteger),
	numberColumn("TO INDEX", func(r nodeRow) number { return r.IndexLag }, formatInteger),
	{"BUSIEST", func(r nodeRow) string {
		step, share := r.Busy.busiest()
		if math.IsNaN(float64(share)) {
			return "-"
		}
		return fmt.Sprintf("%s %.0f%%", step, 100*share)
	}, func(r nodeRow) number { _, share := r.Busy.busiest(); return share }},
	numberColumn("SLOW", func(r nodeRow) number { return r.Slow }, formatInteger),
	numberColumn("STATE", func(r nodeRow) number { return r.Tables }, formatSize),
	numberColumn("DISK FREE", func(r nodeRow) number { return r.DiskFree }, formatSize),
}

// sortRows sorts the rows by a column: by node id ascending, by other columns descending; back reverses the order.
func (f frame) sortRows(column int, back bool) {
	by := topColumns[column].by
	slices.SortStableFunc(f.Nodes, func(a, b nodeRow) int {
		n := cmp.Compare(by(b), by(a))
		if column == 0 {
			n = -n
		}
		if back {
			n = -n
		}
		return cmp.Or(n, cmp.Compare(a.NodeID, b.NodeID))
	})
}

// print prints a frame. It marks the column that the rows are sorted by; -1 marks none.
func (f frame) print(w io.Writer, sorted int) error {
	if _, err := fmt.Fprintf(w, "cluster %s  %s\nleader %s  term %d\n\n", cmp.Or(f.Cluster, "-"), f.Condition,
		leaderName(f.Leader), f.Term); err != nil {
		return err
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for i, c := range topColumns {
		head := c.head
		if i == sorted {
			head += "*"
		}
		fmt.Fprint(tw, head, "\t")
	}
	fmt.Fprintln(tw)
	for _, r := range f.Nodes {
		for _, c := range topColumns {
			fmt.Fprint(tw, c.show(r), "\t")
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}
