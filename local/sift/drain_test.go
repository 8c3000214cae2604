package sift

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// claimAll claims events until there are no more, and returns their number.
func (d *daemon) claimAll() (ids []int) {
	d.t.Helper()
	for {
		events := d.ask(`{"kind":"claim_for_summary","batch":64}`)["events"].([]any)
		for _, e := range events {
			ids = append(ids, int(e.(map[string]any)["id"].(float64)))
		}
		if len(events) == 0 {
			return ids
		}
	}
}

// TestClaimsOfLargeEvents: events that do not fit one answer, compressed or not, are offered in the next ones, at the
// first offer and after a release.
func TestClaimsOfLargeEvents(t *testing.T) {
	suite.Full(t)
	const n = 18
	for name, words := range map[string]func(i int) string{
		"alike": func(i int) string { return strings.Repeat(fmt.Sprintln("quay", i), 150_000) },
		"random": func(i int) string {
			var b strings.Builder
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for b.Len() < 900_000 {
				for range 8 {
					b.WriteByte(' ' + byte(r.IntN(95)))
				}
				b.WriteByte('\n')
			}
			return b.String()
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, nil)
			for i := range n {
				d.ask(fmt.Sprintf(`{"kind":"capture","sessionId":"s","tool":"Bash","payload":{"out":%q}}`, words(i)[:900_000]))
			}
			for _, when := range []string{"at first", "released"} {
				ids := d.claimAll()
				if len(ids) != n {
					t.Errorf("%s, %d events are offered, want %d", when, len(ids), n)
				}
				for _, id := range ids {
					d.ask(fmt.Sprintf(`{"kind":"release_summary","eventId":%d}`, id))
				}
			}
		})
	}
}

// TestExportKeepsASession: if an event is omitted from an export, the row of its session is still exported with
// another event.
func TestExportKeepsASession(t *testing.T) {
	d := start(t, nil)
	d.ask(`{"kind":"capture","sessionId":"s","tool":"Bash","payload":{"out":"quay"}}`)
	d.ask(`{"kind":"capture","sessionId":"s","tool":"Bash","payload":{"out":"pier"}}`)
	ns := d.serving[keyOf(d)].workspace.Namespace(d.cfg.NS)
	page, err := api.Captures.Ask(t.Context(), d.cfg.Memory, &api.CapturesRequest{Workspace: ns, Payloads: 1 << 20})
	if err != nil || len(page.Captures) != 2 {
		t.Fatal(page, err)
	}
	long := strings.Repeat("\x01", oplog.MaxText) // JSON makes it six times as long
	if _, _, err := d.store.apply(oplog.Entry{DB: oplog.DefaultDB,
		Ops: []oplog.Op{&oplog.Correct{RID: page.Captures[0].RID, Text: &long, At: oplog.At(time.Now())}}}); err != nil {
		t.Fatal(err)
	}
	got := d.ask(`{"kind":"export"}`)
	if text := got["ndjson"].(string); got["omitted"] != 1.0 || !strings.HasPrefix(text, `{"table":"sessions"`) ||
		strings.Count(text, "\n") != 2 {
		t.Errorf("%.500v", got)
	}
}

// TestImportOfItsOwnExport: an export that is imported where it was made changes nothing, whatever the payloads are.
func TestImportOfItsOwnExport(t *testing.T) {
	d := start(t, nil)
	for _, payload := range []string{`{"value":{"out":"quay"}}`, `{"value":["quay"]}`, `"quay"`, `{"value":null}`, `{"value":{},"x":1}`, `{}`} {
		d.ask(`{"kind":"capture","sessionId":"s","tool":"Bash","payload":` + payload + `}`)
	}
	again := d.ask(fmt.Sprintf(`{"kind":"import","ndjson":%q}`, d.ask(`{"kind":"export"}`)["ndjson"]))
	if again["inserted"] != 0.0 || again["errors"] != 0.0 {
		t.Errorf("%v", again)
	}
}

// TestAnErasedTextCostsNoOther: an event whose summary was erased for good is left out, and the other events of a
// transcript, of an import and of a hook's spool are stored.
func TestAnErasedTextCostsNoOther(t *testing.T) {
	d := start(t, nil)
	const secret = `{"tool_input":{"file_path":"secret.go"},"tool_response":"func Secret()"}`
	id := oplog.Seq(d.ask(`{"kind":"capture","sessionId":"old","tool":"Read","payload":` + secret + `}`)["summaryId"].(float64))
	kept, err := api.Numbered.Ask(t.Context(), d.cfg.Memory, &api.NumberedRequest{Seqs: []oplog.Seq{id}})
	if err != nil || len(kept.Memories) != 1 {
		t.Fatal(kept, err)
	}
	erase := &oplog.Purge{RIDs: []string{kept.Memories[0].RID}, At: oplog.At(time.Now()), Salt: make([]byte, oplog.MinSalt)}
	if _, _, err := d.store.apply(oplog.Entry{DB: oplog.DefaultDB, Ops: []oplog.Op{erase}}); err != nil {
		t.Fatal(err)
	}
	var lines, exported strings.Builder
	for i, call := range []string{"a.go", "secret.go", "b.go", "c.go", "d.go"} {
		name := strings.TrimSuffix(call, ".go")
		said := fmt.Sprintf("func %s()", strings.ToUpper(name[:1])+name[1:])
		lines.WriteString(useLine(call, "Read", fmt.Sprintf(`{"file_path":%q}`, call), i) + resultLine(call, fmt.Sprintf("%q", said)))
		fmt.Fprintf(&exported, `{"table":"events","row":{"id":%d,"ts":1,"session_id":"imported","tool":"Read","payload_json":%q}}`+"\n", i,
			fmt.Sprintf(`{"tool_input":{"file_path":%q},"tool_response":%q}`, call, said))
	}
	writeFile(t, filepath.Join(d.project(strings.ReplaceAll(d.top(), "/", "-")), "new.jsonl"), lines.String(), time.Now())
	for _, want := range []string{"captured=4 skipped=0 duplicate=0 broken=0 errors=1", "captured=0 skipped=4 duplicate=4 broken=0 errors=1"} {
		if got := tally(d.ask(`{"kind":"backfill"}`)); got != "scanned=1 "+want {
			t.Errorf("backfill: %s, want %s", got, want)
		}
	}
	got := d.ask(fmt.Sprintf(`{"kind":"import","ndjson":%q}`, exported.String()))
	if got["inserted"] != 4.0 || got["errors"] != 1.0 {
		t.Errorf("import: %v", got)
	}
	if why := d.refused(`{"kind":"capture","sessionId":"live","tool":"Read","payload":` + secret + `}`); !strings.HasPrefix(why, "capture: ") {
		t.Errorf("a hook is answered %q, and keeps the capture", why)
	}
}

// TestOnlyContentIsRejected: a capture is given up for what it holds alone. One that meets a setting, such as a node
// with another embedder than the database, waits in its hook's spool until an operator has mended it.
func TestOnlyContentIsRejected(t *testing.T) {
	for err, want := range map[*oplog.Error]bool{
		oplog.ErrErasedText: true,
		oplog.Errorf(oplog.Invalid, "a name has a control character"):                             true,
		oplog.Errorf(oplog.TooLarge, "payload is 2 bytes, over 1"):                                true,
		oplog.Errorf(oplog.Conflict, "database default is embedded by one, this node by another"): false,
		oplog.Errorf(oplog.OverQuota, "would exceed memory quota"):                                false,
	} {
		if isRejected(err) != want {
			t.Errorf("%v: rejected %v", err, !want)
		}
	}
}

// TestMergedSummariesAreNotOffered: no model is asked for a text for a summary that was merged into another memory,
// and a text that comes for one is dropped.
func TestMergedSummariesAreNotOffered(t *testing.T) {
	d := start(t, nil)
	q := &api.NumberedRequest{}
	for _, name := range []string{"test", "lint", "vet"} {
		a := d.ask(fmt.Sprintf(`{"kind":"capture","sessionId":"s","tool":"Bash","payload":{"command":"make %s"}}`, name))
		q.Seqs = append(q.Seqs, oplog.Seq(a["summaryId"].(float64)))
	}
	kept, err := api.Numbered.Ask(t.Context(), d.cfg.Memory, q)
	if err != nil {
		t.Fatal(err)
	}
	merge := &oplog.Recast{At: oplog.At(time.Now())}
	for _, m := range kept.Memories[:2] {
		merge.Sources = append(merge.Sources, oplog.Grounds{RID: m.RID})
	}
	merge.Into = []oplog.Remember{{Content: oplog.Content{RID: oplog.NewID(), Text: "tested and linted", Namespace: kept.Memories[0].Namespace,
		Created: merge.At}}}
	if _, _, err := d.store.apply(oplog.Entry{DB: oplog.DefaultDB, Ops: []oplog.Op{merge}}); err != nil {
		t.Fatal(err)
	}
	if ids := d.claimAll(); len(ids) != 1 || ids[0] != 3 {
		t.Errorf("offered: %v", ids)
	}
	if a := d.ask(`{"kind":"record_summary","eventId":1,"model":"m","text":"the tests pass"}`); a["id"] != float64(q.Seqs[0]) {
		t.Errorf("a text for a merged summary: %v", a)
	}
}
