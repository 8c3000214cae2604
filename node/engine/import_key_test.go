package engine_test

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestAnImportsKeyIsOfItsRelations: an import of other relations under a used idempotency key is rejected, not
// answered with the first result. The same import can be repeated.
func TestAnImportsKeyIsOfItsRelations(t *testing.T) {
	t.Parallel()
	n, c := startSingle(t)
	load := func(src string) (*api.Imported, error) {
		line := `{"type":"edge","src":"` + src + `","dst":"Boole","rel_type":"knows"}` + "\n"
		return api.Import.Do(t.Context(), n.Host(), c, &api.ImportRequest{Key: "k", Lines: strings.NewReader(line)})
	}
	for range 2 {
		if a, err := load("Ada"); err != nil || a.Edges != 1 {
			t.Fatalf("the import says %+v, %v", a, err)
		}
	}
	if a, err := load("Grace"); err == nil || !strings.Contains(err.Error(), oplog.ErrKeyReused.Text) {
		t.Errorf("an import of another relation under the same key says %+v, %v", a, err)
	}
}
