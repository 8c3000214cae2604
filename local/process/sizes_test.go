//go:build !soak

package process_test

const (
	bigOutput     = 96 << 20
	grandchildren = 50
	spawns        = 300
)
