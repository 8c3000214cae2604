package engine_test

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/state"
)

// TestAnImportBringsNoErasedText: an export may have the text of an erased memory as an earlier revision of another
// memory. The import rejects that one.
func TestAnImportBringsNoErasedText(t *testing.T) {
	t.Parallel()
	n, c := alone(t)
	made, err := api.Remember.Do(t.Context(), n.Host(), c, &api.RememberRequest{Draft: api.Draft{Text: "the code is 2222"}})
	if err != nil {
		t.Fatal(err)
	}
	q := &api.EraseRequest{RIDs: []string{made.RID}}
	for range 2 {
		a, err := api.Erase.Do(t.Context(), n.Host(), c, q)
		if err != nil {
			t.Fatal(err)
		}
		q.Confirm = a.Confirm
	}
	line := `{"type":"memory","text":"the code changes","extractor":1,"updated_at":2,"last_access":2,"revision":1,` +
		`"revisions":[{"revision":0,"text":"The code  is 2222","until":2}]}` + "\n"
	_, err = api.Import.Do(t.Context(), n.Host(), c, &api.ImportRequest{Lines: strings.NewReader(line)})
	if err == nil || !strings.Contains(err.Error(), state.ErrErasedText.Text) {
		t.Errorf("the import says %v", err)
	}
	if got := memoriesOf(t, n, c); len(got) != 1 { // the erased one
		t.Errorf("stored: %+v", got)
	}
}
