package cli

import (
	"fmt"
	"strings"

	"github.com/cairndb/cairn/node/api"
)

// Members are all nodes of a cluster, first the node that was asked.
func Members(s *api.ClusterStatus) []api.Peer {
	return append([]api.Peer{{NodeID: s.NodeID, State: s.Role, Voter: true, Reachable: true, Wire: s.Wire, HTTP: s.HTTP, LagEntries: s.Lag, Vitals: s.Vitals, Store: &s.Store}}, s.Peers...)
}

// Voters counts a cluster's voters, or those of them that answer.
func Voters(s *api.ClusterStatus, answering bool) (n int) {
	for _, p := range Members(s) {
		if p.Voter && (p.Reachable || !answering) {
			n++
		}
	}
	return n
}

// Megabytes is a number of bytes as people read it.
func Megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// DamageOf says, after a node's name, which files of its state have damaged blocks, and what heals them; blank when it met none since it started.
func DamageOf(s *api.Store, alone bool) (found, do string) {
	if s == nil || s.Damaged == 0 {
		return "", ""
	}
	found = fmt.Sprintf("read damaged blocks of its state %d times, and returned nothing from them: %s", s.Damaged, strings.Join(s.In, ", "))
	if alone {
		return found, "restart it: it moves the state aside and rebuilds it from its snapshot and log (runbook damaged-state.md)"
	}
	return found, "it stops as soon as enough other voters are healthy, and gets a new state from them when it starts again: make sure that it is restarted (runbook damaged-state.md)"
}
