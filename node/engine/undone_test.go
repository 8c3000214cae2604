package engine_test

import (
	"reflect"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestARepeatedUndoIsAnsweredAsTheFirst: an undo repeated under its key gets the first answer, whatever has become of
// the memory since.
func TestARepeatedUndoIsAnsweredAsTheFirst(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	text := new("the boat is blue")
	for name, later := range map[string]func(rid, other string) error{
		"merged": func(rid, other string) error {
			_, err := api.Merge.Do(t.Context(), n.Host(), c, &api.MergeRequest{RIDs: []string{rid, other}, Text: "a boat, and tea"})
			return err
		},
		"forgotten": func(rid, _ string) error {
			_, err := api.Forget.Do(t.Context(), n.Host(), c, &api.ForgetRequest{RID: rid})
			return err
		},
	} {
		for _, revision := range []*uint32{nil, new(uint32(0))} {
			rid, other := stored(t, n, c, api.Draft{Text: "the boat is red"}), stored(t, n, c, api.Draft{Text: "tea is green"})
			if _, err := api.Correct.Do(t.Context(), n.Host(), c, &api.CorrectRequest{RID: rid, Text: text, Reason: "painted"}); err != nil {
				t.Fatal(err)
			}
			undo := func() *api.Undone {
				t.Helper()
				a, err := api.Undo.Do(t.Context(), n.Host(), c, &api.UndoRequest{RID: rid, Revision: revision, Key: "undo " + rid})
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				a.Index = 0
				return a
			}
			first := undo()
			if err := later(rid, other); err != nil {
				t.Fatal(err)
			}
			if again := undo(); first.Text != "the boat is red" || !reflect.DeepEqual(again, first) {
				t.Errorf("an undo answers %+v; repeated when the memory was %s, %+v", first, name, again)
			}
		}
	}
}
