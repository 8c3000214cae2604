//go:build soak

package simulation

const (
	defaultSeeds  = 5000
	defaultStride = 1
)
