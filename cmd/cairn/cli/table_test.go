package cli

import (
	"bytes"
	"testing"
)

// TestACellStaysInItsRow: a line break or a tab in a cell does not break the columns of other rows.
func TestACellStaysInItsRow(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, []string{"LABEL", "STATE"}, [][]string{{"a\nb\tc", "valid"}, {"d", "valid"}}); err != nil {
		t.Fatal(err)
	}
	if want := "LABEL  STATE\na b c  valid\nd      valid\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
