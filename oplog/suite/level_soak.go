//go:build soak

package suite

const level = inSoak
