//go:build full && !soak

package suite

const level = inFull
