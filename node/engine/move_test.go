package engine_test

import (
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// TestAMovePassesOverWhatExpires: a memory that expires between the begin of a move and its application does not make
// the move of the others fail. Without writes the state does not notice the expiry.
func TestAMovePassesOverWhatExpires(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	expires := time.Now().Add(time.Second)
	put := func(key string, d api.Draft) {
		t.Helper()
		if _, err := api.Put.Do(t.Context(), n.Host(), c, &api.PutRequest{Path: key, Draft: d}); err != nil {
			t.Fatal(err)
		}
	}
	put("/notes/a", api.Draft{Text: "for now", Expires: field.Date{Time: expires}})
	put("/notes/b", api.Draft{Text: "for good"})
	<-time.After(time.Until(expires.Add(10 * time.Millisecond)))
	a, err := api.Move.Do(t.Context(), n.Host(), c, &api.MoveRequest{Prefix: "/notes", To: "archive"})
	if err != nil || a.Moved != 1 {
		t.Errorf("the move answers %+v, %v", a, err)
	}
}
