package wire

import (
	"strings"
	"testing"
)

// TestWhatPassesCheckSizeIsRead: a client can read every value that passes CheckSize, and values that are too large
// for it do not pass.
func TestWhatPassesCheckSizeIsRead(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	list := func(n int, element string) JSON {
		return JSON("[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]")
	}
	for name, c := range map[string]struct {
		v    JSON
		fits bool
	}{
		"values":               {list(maxValues-1, "0"), true},
		"one value more":       {list(maxValues, "0"), false},
		"numbers that grow":    {list(200_000, "0.5"), true},
		"objects":              {list(maxValues/3-1, `{"a":1}`), true},
		"too many objects":     {list(maxValues/3+1, `{"a":1}`), false},
		"what looks like more": {JSON(`"` + strings.Repeat(`\",[{:`, maxValues) + `"`), true},
		"a long text":          {JSON(`"` + strings.Repeat("a", MaxPlainClient-200) + `"`), true},
		"too long a text":      {JSON(`"` + strings.Repeat("a", MaxPlainClient) + `"`), false},
	} {
		err := c.v.CheckSize(MaxPlainClient - 64)
		if (err == nil) != c.fits {
			t.Errorf("%s: %v", name, err)
		}
		f, err := Pack(OpOperationResult, 1, &OperationResult{Answer: c.v}, false)
		if err == nil {
			err = Unpack(f, &OperationResult{}, MaxPlainClient)
		}
		if (err == nil) != c.fits {
			t.Errorf("%s, read: %v", name, err)
		}
	}
}
