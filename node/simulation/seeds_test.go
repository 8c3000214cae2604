//go:build !soak

package simulation

const (
	defaultSeeds  = 40
	defaultStride = 12
)
