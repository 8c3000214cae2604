package cli

import "testing"

// TestSizes: large sizes have a large unit.
func TestSizes(t *testing.T) {
	for n, want := range map[int64]string{0: "0.0 MB", 12_345_678: "12.3 MB", 999_000_000: "999.0 MB",
		74_068_100_000: "74.1 GB", 3_500_000_000_000: "3.5 TB"} {
		if got := Size(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}
