//go:build soak

package simulation

const defaultSeeds = 5000
