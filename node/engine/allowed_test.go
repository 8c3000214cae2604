package engine

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/node/api"
)

// TestTheReferenceListsAllowedValues: where a field takes names from a table, its description has all of them.
func TestTheReferenceListsAllowedValues(t *testing.T) {
	signals, types := api.Recall.Op.Takes().Named("without").Doc, api.Events.Op.Takes().Named("type").Doc
	for _, name := range append(rank.Switches(), withoutRerank) {
		if !strings.Contains(signals, " "+name) {
			t.Errorf("without: %s is not in %q", name, signals)
		}
	}
	for _, name := range eventTypes {
		if !strings.Contains(types, " "+name) {
			t.Errorf("type: %s is not in %q", name, types)
		}
	}
}
