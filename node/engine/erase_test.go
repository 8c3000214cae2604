package engine_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestAnImportBringsNoErasedText: an export may contain the text of an erased memory as an earlier revision of
// another memory. The import rejects that memory.
func TestAnImportBringsNoErasedText(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	erased(t, n, c, "the code is 2222")
	line := `{"type":"memory","text":"the code changes","extractor":1,"updated_at":2,"last_access":2,"revision":1,` +
		`"revisions":[{"revision":0,"text":"The code  is 2222","until":2}]}` + "\n"
	_, err := api.Import.Do(t.Context(), n.Host(), c, &api.ImportRequest{Lines: strings.NewReader(line)})
	if err == nil || !strings.Contains(err.Error(), oplog.ErrErasedText.Text) {
		t.Errorf("the import says %v", err)
	}
	if got := memoriesOf(t, n, c); len(got) != 1 { // the erased one
		t.Errorf("stored: %+v", got)
	}
}

// TestErasingANameSaysThatThereIsMore: a name in more relations than one request erases is not reported as erased.
func TestErasingANameSaysThatThereIsMore(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	var lines strings.Builder
	for i := range 1001 {
		fmt.Fprintf(&lines, `{"type":"edge","src":"Ada","dst":"guest %d","rel_type":"met"}`+"\n", i)
	}
	if _, err := api.Import.Do(t.Context(), n.Host(), c, &api.ImportRequest{Lines: strings.NewReader(lines.String())}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1000, 1, 0} {
		q := &api.EraseRequest{Entity: "Ada"}
		a, err := api.Erase.Do(t.Context(), n.Host(), c, q)
		if err != nil || a.Relations != want || a.More != (want == 1000) {
			t.Fatalf("erasing %d relations shows %+v, %v", want, a, err)
		}
		if q.Confirm = a.Confirm; want > 0 {
			if a, err = api.Erase.Do(t.Context(), n.Host(), c, q); err != nil || !a.Erased {
				t.Fatalf("erasing says %+v, %v", a, err)
			}
		}
	}
}

// TestAResolutionBringsNoErasedText: a resolution with an erased text is rejected before it enters the log.
func TestAResolutionBringsNoErasedText(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	erased(t, n, c, "the code is 2222")
	now := oplog.At(time.Now())
	x := oplog.ConflictRow{ID: "x", A: stored(t, n, c, api.Draft{Text: "it is old"}), B: stored(t, n, c, api.Draft{Text: "it is new"}),
		Namespace: "default", Detected: now}
	if err := n.Service().Propose(t.Context(), c, &oplog.Cognition{At: now, Conflicts: []oplog.ConflictRow{x}}); err != nil {
		t.Fatal(err)
	}
	before := n.Service().Applied()
	_, err := api.Resolve.Do(t.Context(), n.Host(), c, &api.ResolveRequest{ID: x.ID, Strategy: oplog.MergeAB, NewText: "The code  is 2222"})
	if now := n.Service().Applied(); !errors.Is(err, oplog.ErrErasedText) || now != before {
		t.Errorf("the resolution says %v; the log goes from %d to %d", err, before, now)
	}
}

// erased stores a text and erases it for good.
func erased(t *testing.T, n *node.Node, c api.Caller, text string) {
	t.Helper()
	q := &api.EraseRequest{RIDs: []string{stored(t, n, c, api.Draft{Text: text})}}
	for range 2 {
		a, err := api.Erase.Do(t.Context(), n.Host(), c, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Confirm = a.Confirm
	}
}
