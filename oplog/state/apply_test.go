package state

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
)

// scriptEnv is a state, with a counter that serves as index and clock.
type scriptEnv struct {
	t     *testing.T
	s     *State
	index oplog.Index
	now   uint64 // millis
}

func newEnv(t *testing.T, keys *seal.Ring) *scriptEnv {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{NoSync: true, Keys: keys})
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return &scriptEnv{t: t, s: s, now: 1_700_000_000_000}
}

// TestApply runs the scripts in testdata/apply, each on a plain and on an encrypted state. `entry` applies one entry:
// each line is an operation, its kind and its fields as JSON; the options are db, key and digest. `view` prints the
// content of the state. `advance` moves the clock. In fields, "x*9" means nine times the letter.
func TestApply(t *testing.T) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "encrypted": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) { applyScripts(t, keys) })
	}
}

func applyScripts(t *testing.T, keys *seal.Ring) {
	datadriven.Walk(t, "testdata/apply", func(t *testing.T, path string) {
		e := newEnv(t, keys)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			out := e.run(t, d)
			if err := e.s.Read(func(v *View) error {
				if got := v.Recount(); got != v.Sum() {
					t.Errorf("%s: the running sum is %s, the state's is %s", d.Pos, v.Sum(), got)
				}
				checkCounts(t, d, v)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			return out
		})
	})
}

// checkCounts compares the counters with the rows that they count.
func checkCounts(t *testing.T, d *datadriven.TestData, v *View) {
	t.Helper()
	for _, db := range v.Databases() {
		var all oplog.Counts
		named := map[string]bool{}
		v.Memories(db.ID, 0, func(m *oplog.Memory) bool {
			all.Count(m.Status, +1)
			named[m.Namespace] = true
			return true
		})
		var edges, claims uint64
		v.EdgesBehind(db.ID, "", func(oplog.Edge) bool { edges++; return true })
		v.ClaimsBehind(db.ID, "", func(oplog.StoredClaim) bool { claims++; return true })
		if st := v.Stats(db.ID); st.Counts != all || st.Edges != edges || st.Claims != claims {
			t.Errorf("%s: counted %+v, there are %+v, %d edges and %d claims", d.Pos, st, all, edges, claims)
		}
		for ns := range named {
			if got, want := v.NamespaceStats(db.ID, ns), counted(v, db.ID, ns); got != want {
				t.Errorf("%s: namespace %q counted %+v, has %+v", d.Pos, ns, got, want)
			}
		}
	}
}

func (e *scriptEnv) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "entry":
		return e.entry(t, d)
	case "advance":
		var hours, records int
		d.MaybeScanArgs(t, "hours", &hours)
		d.MaybeScanArgs(t, "records", &records)
		e.now += uint64(hours) * 3_600_000
		e.index += oplog.Index(records)
		return ""
	case "view":
		return e.view(t, d)
	case "mind":
		return e.mind(t)
	case "events":
		return e.events(t, d)
	case "keys":
		return e.keys(t, d)
	case "past":
		return e.past(t, d)
	case "operate":
		return e.operate(t)
	default:
		t.Fatalf("%s: no command %s", d.Pos, d.Cmd)
		return ""
	}
}

func (e *scriptEnv) entry(t *testing.T, d *datadriven.TestData) string {
	db, key, digest := 1, "", ""
	d.MaybeScanArgs(t, "db", &db)
	d.MaybeScanArgs(t, "key", &key)
	d.MaybeScanArgs(t, "digest", &digest)
	in := oplog.Entry{Node: 1, DB: oplog.DB(db), Key: key, Digest: []byte(digest)}
	for line := range strings.Lines(d.Input) {
		name, fields, _ := strings.Cut(strings.TrimSpace(line), " ")
		in.Ops = append(in.Ops, e.op(t, name, fields))
	}
	body, err := in.Encode()
	must(t, err)
	e.now++
	e.index++
	out, err := e.s.Apply([]oplog.Record{{Index: e.index, Term: 1, Data: oplog.EncodeRecord(oplog.MakeHLC(e.now, 0, 1), body)}})
	must(t, err)
	o := out[0]
	if o.Err != nil {
		return fmt.Sprintf("%s: %s\n", o.Err.Kind, o.Err.Text)
	}
	var b strings.Builder
	if o.Replayed {
		b.WriteString("replayed\n")
	}
	for _, r := range o.Results {
		fmt.Fprintf(&b, "id=%s num=%d changed=%t", r.ID, r.Num, r.Changed)
		if s := r.Session; s != nil {
			fmt.Fprintf(&b, " memories=%d topics=%v valence=%.3f", s.Memories, s.Topics, s.Valence)
		}
		if r.Thought != nil {
			fmt.Fprintf(&b, " thought=%+v rows=%v", *r.Thought, r.Rows)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

var repeated = regexp.MustCompile(`"[A-Za-z]\*[0-9]+"`)

// op makes an operation from the name of its kind and its Go fields as JSON. The clock of the script sets the times.
func (e *scriptEnv) op(t *testing.T, name, fields string) oplog.Op {
	t.Helper()
	for _, k := range oplog.Reads() {
		if oplog.OpKind(k).String() != name {
			continue
		}
		op := oplog.OpKind(k).New()
		if fields == "" {
			fields = "{}"
		}
		fields = repeated.ReplaceAllStringFunc(fields, func(s string) string {
			n, err := strconv.Atoi(s[3 : len(s)-1])
			must(t, err)
			return `"` + strings.Repeat(s[1:2], n) + `"`
		})
		dec := json.NewDecoder(bytes.NewReader([]byte(fields)))
		dec.DisallowUnknownFields()
		if err := dec.Decode(op); err != nil {
			t.Fatalf("%s %s: %v", name, fields, err)
		}
		if r, ok := op.(*oplog.Remember); ok {
			if r.Created == 0 {
				r.Created = oplog.Time(e.now * 1000)
			}
			if r.Namespace == "" {
				r.Namespace = "default"
			}
		}
		if s, ok := op.(*oplog.SessionStart); ok && s.At == 0 {
			s.At = oplog.Time(e.now * 1000)
		}
		return op
	}
	t.Fatalf("no operation %q", name)
	return nil
}

func (e *scriptEnv) view(t *testing.T, d *datadriven.TestData) string {
	db := 1
	d.MaybeScanArgs(t, "db", &db)
	var b strings.Builder
	err := e.s.Read(func(v *View) error {
		st := v.Stats(oplog.DB(db))
		fmt.Fprintf(&b, "active=%d tombstoned=%d edges=%d entities=%d claims=%d operations=%d\n", st.Active, st.Tombstoned,
			st.Edges, st.Entities, st.Claims, st.Operations)
		v.Memories(oplog.DB(db), 0, func(m *oplog.Memory) bool {
			fmt.Fprintf(&b, "memory %d %s %q %s", m.Seq, m.RID, m.Text, m.Status)
			if m.Expired() {
				fmt.Fprintf(&b, " expired")
			}
			if _, byID := v.Memory(oplog.DB(db), m.RID); byID == m.Expired() {
				t.Errorf("%s: an expired memory is read by its id, or another one is not: %s", d.Pos, m.RID)
			}
			if m.By != "" {
				fmt.Fprintf(&b, " by=%s", m.By)
			}
			if m.Session != "" {
				fmt.Fprintf(&b, " session=%s/%d", m.Session, m.Order)
			}
			b.WriteString(lowered(m.Trust))
			if m.Writer != "" {
				fmt.Fprintf(&b, " writer=%s", m.Writer)
			}
			if len(m.Attributes) > 0 {
				fmt.Fprintf(&b, " attributes=%s", m.Attributes)
			}
			if len(m.Entities) > 0 {
				fmt.Fprintf(&b, " names=%q", m.Entities)
			}
			for _, r := range v.Revisions(oplog.DB(db), m.Seq) {
				fmt.Fprintf(&b, " was(%q, %s%s)", r.Text, r.Reason, r.Attributes)
			}
			b.WriteByte('\n')
			return true
		})
		v.Quarantined(oplog.DB(db), 0, func(m *oplog.Memory) bool {
			fmt.Fprintf(&b, "held %s\n", m.RID)
			return true
		})
		var lines []string // a sealed file has a different order
		v.EdgesBehind(oplog.DB(db), "", func(e oplog.Edge) bool {
			lines = append(lines, fmt.Sprintf("edge %s %s -%s-> %s %.2f\n", e.ID, e.Src, e.Type, e.Dst, e.Weight))
			return true
		})
		v.ClaimsBehind(oplog.DB(db), "", func(c oplog.StoredClaim) bool {
			lines = append(lines,
				fmt.Sprintf("claim %s %s -%s-> %s polarity=%d by=%s of=%s%s\n", c.ID, c.Src, c.Type, c.Dst, c.Polarity,
					c.Extractor, c.SourceRID, lowered(c.Trust)))
			return true
		})
		slices.SortFunc(lines, func(x, y string) int { return cmp.Or(-cmp.Compare(x[:1], y[:1]), cmp.Compare(x, y)) })
		b.WriteString(strings.Join(lines, ""))
		for _, x := range v.Databases() {
			fmt.Fprintf(&b, "database %d %s dim=%d\n", x.ID, x.Name, x.Dim)
		}
		for _, k := range v.Tokens() {
			fmt.Fprintf(&b, "token %s db=%d revoked=%t\n", k.Hash[:8], k.DB, k.Revoked != 0)
		}
		return nil
	})
	must(t, err)
	return b.String()
}

func (e *scriptEnv) events(t *testing.T, d *datadriven.TestData) string {
	var b strings.Builder
	var workspace string
	d.ScanArgs(t, "workspace", &workspace)
	err := e.s.Read(func(v *View) error {
		c := v.EventCounts(1, workspace)
		fmt.Fprintf(&b, "events=%d raw=%d summarized=%d skipped=%d sessions=%d\n", c.Events, c.Raw, c.Summarized, c.Skipped, c.Sessions)
		v.Events(1, 0, func(x *oplog.StoredEvent) bool {
			if x.Workspace == workspace {
				fmt.Fprintln(&b, strings.TrimSpace(fmt.Sprintf("event %d %s %s %s", x.ID, x.Tool, x.Status, x.Summary)))
				if x.Summary != "" && v.EventOf(1, x.Summary) != x.ID || v.EventWith(1, workspace, x.Session, x.Hash) != x.ID {
					t.Errorf("event %d is not found by its summary or content", x.ID)
				}
			}
			return true
		})
		return nil
	})
	must(t, err)
	return b.String()
}

// lowered names a class of memories that is not an agent's.
func lowered(class string) string {
	if oplog.TrustOf(class) == oplog.TrustAgent {
		return ""
	}
	return " trust=" + class
}

// counted counts the memories of a namespace.
func counted(v *View, db oplog.DB, namespace string) (sum oplog.Counts) {
	v.NamespaceFrom(db, namespace, 0, func(seq oplog.Seq) bool {
		if m, ok := v.MemoryAt(db, seq); ok {
			sum.Count(m.Status, +1)
		}
		return true
	})
	return sum
}

// TestMergedMetadataIsBounded: corrections that each add valid metadata are rejected when the merged metadata exceeds
// the limit.
func TestMergedMetadataIsBounded(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}, {DB: 1,
		Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "a", Text: "x"}}}}}))
	for i, want := range []oplog.Kind{0, oplog.TooLarge} {
		merge := fmt.Appendf(nil, `{"m%d":"%s"}`, i, strings.Repeat("x", oplog.MaxMetadata*2/3))
		out, err := s.Apply([]oplog.Record{record(oplog.Index(i+2),
			[]oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Correct{RID: "a", Merge: merge}}}})})
		must(t, err)
		if got := out[0].Err; (got == nil) != (want == 0) || got != nil && got.Kind != want {
			t.Errorf("merge %d: %v", i, got)
		}
	}
}

// Recount computes the Sum from the keys, for comparison. It reads the whole state, so nodes do not call it.
func (v *View) Recount() (sum Sum) {
	for key, val := range v.walk(span{}, false) {
		sum.addRow(key, val)
	}
	return sum
}
