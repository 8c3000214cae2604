//go:build !soak

package store

// flips is how many bits of each kind of file TestNoFlipIsServed flips; with the build tag soak it takes minutes.
const flips = 75
