package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The kinds of violation.
const (
	Lost      = "lost"            // acknowledged, and not there in the end
	Twice     = "twice"           // there more than once, or acknowledged under two ids
	Missed    = "stale"           // a linearizable read without a number that it had to show
	Behind    = "behind an index" // a read at an index without what was acknowledged there
	Back      = "back in time"    // a node's later answer that is older than an earlier one
	Ghost     = "ghosts"          // there, though it was never requested, not yet, or rejected
	Disorder  = "out of order"    // answers of a register that no order explains
	Different = "different"       // nodes whose states differ in the end
	Silence   = "silences"        // no write went through any more
	Broken    = "incomplete"      // the history lacks what it has to have
)

var kinds = []string{Lost, Twice, Missed, Behind, Back, Ghost, Disorder, Different, Silence, Broken}

// maxTexts limits the violations of a kind that are kept as text.
const maxTexts = 10

// A Verdict is the result of checking a history.
type Verdict struct {
	Seconds    float64             `json:"seconds"`
	Acked      int                 `json:"acknowledged"` // numbers in sets, and writes of registers
	Retried    int                 `json:"retried"`      // attempts to add what had been asked for before
	Unsure     int                 `json:"unknown_outcomes"`
	Reads      map[string]int      `json:"reads"` // by mode
	Keys       int                 `json:"keys"`
	Faults     map[string]int      `json:"faults"`    // by text
	Undecided  int                 `json:"undecided"` // registers whose order was not found in time
	Counts     map[string]int      `json:"violations"`
	Violations map[string][]string `json:"examples,omitempty"` // of each kind the first
}

// Pass reports whether nothing is wrong with the history.
func (v *Verdict) Pass() bool { return len(v.Counts) == 0 }

// String is the verdict in a line.
func (v *Verdict) String() string {
	faults := 0
	for _, n := range v.Faults {
		faults += n
	}
	var wrong []string
	for _, k := range kinds {
		if n := v.Counts[k]; n > 0 {
			wrong = append(wrong, fmt.Sprint(n, " ", k))
		}
	}
	word, found := "PASS", "none lost, none twice, no stale read, states equal"
	if !v.Pass() {
		word, found = "FAIL", strings.Join(wrong, ", ")
	}
	return fmt.Sprintf("%s: %d acknowledged writes (%d asked again, %d of unknown outcome), %d linearizable, %d at-index and %d stale reads of %d keys in %.0f s, %d faults: %s (%d undecided)",
		word, v.Acked, v.Retried, v.Unsure, v.Reads[Linearizable], v.Reads[AtIndex], v.Reads[Stale], v.Keys, v.Seconds,
		faults, found, v.Undecided)
}

// Details are the violations, a line each.
func (v *Verdict) Details() string {
	var s strings.Builder
	for _, k := range kinds {
		for _, text := range v.Violations[k] {
			fmt.Fprintf(&s, "  %s: %s\n", k, text)
		}
		if more := v.Counts[k] - len(v.Violations[k]); more > 0 {
			fmt.Fprintf(&s, "  %s: and %d more\n", k, more)
		}
	}
	return s.String()
}

// checker takes records one by one.
type checker struct {
	v     Verdict
	nodes int
	open  map[string][]Record
	ended bool
	sets  map[string]*setSum
	regs  map[string]*registerSum
	tried map[string]Bits         // of sets that are open
	at    map[string]map[int]bool // nodes whose final content of a key was recorded
}

func newChecker() *checker {
	return &checker{v: Verdict{Reads: map[string]int{}, Faults: map[string]int{}, Counts: map[string]int{},
		Violations: map[string][]string{}},
		open: map[string][]Record{}, sets: map[string]*setSum{}, regs: map[string]*registerSum{}, tried: map[string]Bits{},
		at: map[string]map[int]bool{}}
}

// wrong notes a violation.
func (c *checker) wrong(kind, format string, args ...any) {
	if c.v.Counts[kind]++; len(c.v.Violations[kind]) < maxTexts {
		c.v.Violations[kind] = append(c.v.Violations[kind], fmt.Sprintf(format, args...))
	}
}

func (c *checker) take(r Record) error {
	c.v.Seconds = max(c.v.Seconds, float64(r.To)/1e9)
	if r.Value < 0 || r.Value > maxNumber {
		return fmt.Errorf("value %d: from 0 to %d", r.Value, maxNumber)
	}
	switch r.Op {
	case Begin:
		c.nodes = r.Node
	case Fault:
		c.v.Faults[r.Text]++
	case Silent:
		c.wrong(Silence, "%s", r.Text)
	case End:
		if c.ended = true; r.Text != "" {
			c.wrong(Different, "%s", r.Text)
		}
	case Add, Read, Write, Get:
		c.count(r)
		c.open[r.Key] = append(c.open[r.Key], r)
	case Close:
		c.close(r.Key)
	case Final:
		c.final(r)
	default:
		return fmt.Errorf("unknown operation %q in the history", r.Op)
	}
	return nil
}

func (c *checker) count(r Record) {
	switch {
	case r.Op == Read || r.Op == Get:
		c.v.Reads[r.Mode]++
		return
	case r.Outcome == Unknown:
		c.v.Unsure++
	}
	if r.Op == Write && r.Outcome == Done {
		c.v.Acked++
	}
	if tried := c.tried[r.Key]; r.Op == Add {
		if tried.Has(r.Value) {
			c.v.Retried++
		}
		tried.Add(r.Value)
		c.tried[r.Key] = tried
	}
}

// close judges a key. It keeps only what the final state has to show.
func (c *checker) close(key string) {
	ops := c.open[key]
	delete(c.open, key)
	delete(c.tried, key)
	if len(ops) == 0 {
		return
	}
	c.v.Keys++
	slices.SortStableFunc(ops, func(a, b Record) int { return cmp.Compare(a.From, b.From) })
	if ops[0].Op == Add || ops[0].Op == Read {
		c.sets[key] = c.judgeSet(key, ops)
		c.v.Acked += c.sets[key].acked.Len()
	} else {
		c.regs[key] = c.judgeRegister(key, ops)
	}
}

func (c *checker) final(r Record) {
	if s := c.sets[r.Key]; s != nil {
		s.final(c, r)
	} else if s := c.regs[r.Key]; s != nil {
		s.final(c, r)
	} else {
		return // a key of which nothing was asked before the run ended
	}
	if c.at[r.Key] == nil {
		c.at[r.Key] = map[int]bool{}
	}
	c.at[r.Key][r.Node] = true
}

// verdict judges the end.
func (c *checker) verdict() *Verdict {
	for _, key := range slices.Sorted(maps.Keys(c.open)) {
		c.wrong(Broken, "%s was not closed", key)
		c.close(key)
	}
	for _, keys := range [][]string{slices.Sorted(maps.Keys(c.sets)), slices.Sorted(maps.Keys(c.regs))} {
		for _, key := range keys {
			if n := len(c.at[key]); n != c.nodes {
				c.wrong(Broken, "%d of %d nodes have shown what they hold of %s in the end", n, c.nodes, key)
			}
		}
	}
	if !c.ended {
		c.wrong(Broken, "it has no end: the states of the nodes were not compared")
	}
	if c.v.Acked == 0 {
		c.wrong(Broken, "no write was acknowledged")
	}
	return &c.v
}
