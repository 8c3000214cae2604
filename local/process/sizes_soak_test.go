//go:build soak

package process_test

const (
	bigOutput     = 1 << 30
	grandchildren = 500
	reattaches    = 1000
	spawns        = 10_000
)
