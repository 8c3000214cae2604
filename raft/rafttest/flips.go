//go:build !soak

package rafttest

// Flips is how many bits a test flips in each kind of file: a few, and 1,000 with the build tag soak, which takes minutes.
func Flips(few int) int { return few }
