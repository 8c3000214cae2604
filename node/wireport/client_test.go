package wireport

import (
	"reflect"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// TestTheClientsNamesAreTheTables: the fields that the Go client sends and reads with OPERATION are fields of the
// table.
func TestTheClientsNamesAreTheTables(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    any
		table field.Object
	}{
		{client.Memory{}, api.Get.Gives()}, {client.Listing{}, api.Memories.Takes()},
		{client.Correction{}, api.Correct.Takes()}, {client.Context{}, api.Digest.Gives()},
	} {
		names := map[string]bool{}
		for _, f := range c.table {
			names[f.Name] = true
		}
		of := reflect.TypeOf(c.of)
		for i := range of.NumField() {
			if name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); !names[name] {
				t.Errorf("%s.%s is read as %q, which the table does not have", of, of.Field(i).Name, name)
			}
		}
	}
}
