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
	Lost      = "lost"            // acknowledged, and missing at the end
	Twice     = "twice"           // present more than once, or acknowledged under two ids
	Missed    = "stale"           // a linearizable read that misses a number
	Behind    = "behind an index" // a read at an index that misses a number acknowledged at it
	Back      = "back in time"    // an answer of a node that is older than its earlier one
	Ghost     = "ghosts"          // present, but never requested, not yet requested, or rejected
	Disorder  = "out of order"    // answers of a register that are not linearizable
	Different = "different"       // the nodes' states differ at the end
	Silence   = "silences"        // no write was acknowledged after the faults
	Broken    = "incomplete"      // required records are missing
)

var kinds = []string{Lost, Twice, Missed, Behind, Back, Ghost, Disorder, Different, Silence, Broken}

// maxTexts limits the stored examples of each kind.
const maxTexts = 10

// A Verdict is the result of checking a history.
type Verdict struct {
	Seconds    float64             `json:"seconds"`
	Acked      int                 `json:"acknowledged"` // numbers in sets, and writes of registers
	Retried    int                 `json:"retried"`      // repeated attempts to add a number
	Unsure     int                 `json:"unknown_outcomes"`
	Reads      map[string]int      `json:"reads"` // by mode
	Keys       int                 `json:"keys"`
	Faults     map[string]int      `json:"faults"`    // by text
	Undecided  int                 `json:"undecided"` // registers whose check timed out
	Counts     map[string]int      `json:"violations"`
	Violations map[string][]string `json:"examples,omitempty"` // the first ones of each kind
}

// Pass reports whether the history has no violations.
func (v *Verdict) Pass() bool { return len(v.Counts) == 0 }

// String returns the verdict as one line.
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

// Details lists the violations, one a line.
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

// checker checks a history record by record.
type checker struct {
	v     Verdict
	nodes int
	open  map[string][]Record
	ended bool
	sets  map[string]*setSum
	regs  map[string]*registerSum
	tried map[string]Bits         // requested numbers of open sets
	at    map[string]map[int]bool // nodes with a final record, by key
}

func newChecker() *checker {
	return &checker{v: Verdict{Reads: map[string]int{}, Faults: map[string]int{}, Counts: map[string]int{},
		Violations: map[string][]string{}},
		open: map[string][]Record{}, sets: map[string]*setSum{}, regs: map[string]*registerSum{}, tried: map[string]Bits{},
		at: map[string]map[int]bool{}}
}

// violation records a violation.
func (c *checker) violation(kind, format string, args ...any) {
	if c.v.Counts[kind]++; len(c.v.Violations[kind]) < maxTexts {
		c.v.Violations[kind] = append(c.v.Violations[kind], fmt.Sprintf(format, args...))
	}
}

func (c *checker) add(r Record) error {
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
		c.violation(Silence, "%s", r.Text)
	case End:
		if c.ended = true; r.Text != "" {
			c.violation(Different, "%s", r.Text)
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

// close checks a key. It keeps only what the final state must contain.
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
		return // a key without operations
	}
	if c.at[r.Key] == nil {
		c.at[r.Key] = map[int]bool{}
	}
	c.at[r.Key][r.Node] = true
}

// verdict checks the end of the history and returns the result.
func (c *checker) verdict() *Verdict {
	for _, key := range slices.Sorted(maps.Keys(c.open)) {
		c.violation(Broken, "%s was not closed", key)
		c.close(key)
	}
	for _, keys := range [][]string{slices.Sorted(maps.Keys(c.sets)), slices.Sorted(maps.Keys(c.regs))} {
		for _, key := range keys {
			if n := len(c.at[key]); n != c.nodes {
				c.violation(Broken, "%d of %d nodes have shown what they hold of %s in the end", n, c.nodes, key)
			}
		}
	}
	if !c.ended {
		c.violation(Broken, "it has no end: the states of the nodes were not compared")
	}
	if c.v.Acked == 0 {
		c.violation(Broken, "no write was acknowledged")
	}
	return &c.v
}
