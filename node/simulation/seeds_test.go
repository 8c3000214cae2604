//go:build !soak

package simulation

const defaultSeeds = 200

// homesAndMembers has homes lost and members changed as well. Under some schedules no leader is elected in the end: see the design.
const homesAndMembers = false
