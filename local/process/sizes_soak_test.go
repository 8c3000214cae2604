//go:build soak

package process_test

const (
	bigOutput     = 1 << 30
	grandchildren = 500
	spawns        = 10_000
)
