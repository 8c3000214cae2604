//go:build soak

package index_test

// flips is how many bits of each file TestFlippedBits flips; with the build tag soak it takes minutes.
const flips = 1000
