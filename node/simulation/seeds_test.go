//go:build !soak

package simulation

const (
	defaultSeeds  = 30
	defaultStride = 12
)
