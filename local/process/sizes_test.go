//go:build !soak

package process_test

const (
	bigOutput     = 96 << 20
	grandchildren = 50
	reattaches    = 200
	spawns        = 300
)
