//go:build !soak

package main

// leaderKills is how many leaders die in TestLeadersDieAndNothingIsLost; with the build tag soak it takes minutes.
const leaderKills = 6

// anyFaults is how often any faults stand between members in TestMembersBehindProxies.
const anyFaults = 3
