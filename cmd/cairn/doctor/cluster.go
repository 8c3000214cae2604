package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

func (e *examination) cluster(context.Context) (fs []Finding) {
	s := e.running
	switch {
	case s == nil && (e.held || e.remote):
		return nil
	case s == nil:
		return []Finding{{"", Warn, "not looked at: this node does not run", "start it, or name a running member with --endpoints"}}
	}
	quorum := s.LeaderID != nil && cli.Voters(s, true) >= s.QuorumSize
	switch {
	case s.Removed:
		fs = append(fs, Finding{"", Fail, s.Condition + ": it rejects writes, and its reads grow old",
			fmt.Sprintf("stop it, or take it in again: on a member, `cairn cluster join --node-id %d --peer-addr %s`", s.NodeID, s.Addr)})
	case !quorum && slices.ContainsFunc(s.Peers, func(p api.Peer) bool { return !p.Reachable && slices.Contains(e.greeted, p.Addr) }):
		fs = append(fs, Finding{"", Fail, s.Condition + ": writes are refused",
			"members that run do not answer this node: find out why, as below; do not recover or empty a home meanwhile"})
	case !quorum:
		fs = append(fs, Finding{"", Fail, s.Condition + ": writes are refused",
			"start the other voters; only when a majority is gone for good, with its disks: `cairn cluster recover --help`"})
	}
	if s.Agreement == "diverged" {
		fs = append(fs, Finding{"", Fail, "states at the same index differ",
			"follow deploy/runbooks/divergence.md, and do not empty a home before it says which"})
	}
	versions := map[string]bool{s.Version: true}
	fs = append(fs, disputes(s.NodeID, s.Disputes)...)
	for _, p := range s.Peers {
		if !p.Reachable {
			f := Finding{"", Fail, fmt.Sprintf("node %d does not answer", p.NodeID), "start it"}
			if slices.Contains(e.greeted, p.Addr) {
				f.Says += fmt.Sprintf(" node %d, and its port answers", s.NodeID)
				f.Do = "one of them rejects the other: the logs of both say why"
			} else if quorum {
				f.Do += ", or `cairn cluster remove --node-id " + fmt.Sprint(p.NodeID) + "` when it is gone for good"
			}
			fs = append(fs, f)
			continue
		}
		versions[p.Version] = true
		fs = append(fs, disputes(p.NodeID, p.Disputes)...)
		if p.DiskFull {
			fs = append(fs, Finding{"", Fail, fmt.Sprintf("the disk of node %d is full: it rejects writes", p.NodeID),
				"free space there: see deploy/runbooks/disk-full.md"})
		}
		if p.LagEntries != nil && *p.LagEntries > maxLag {
			fs = append(fs, Finding{"", Warn, fmt.Sprintf("node %d is %d entries behind", p.NodeID, *p.LagEntries),
				"check its disk and its network"})
		}
	}
	if len(versions) > 1 {
		fs = append(fs, Finding{"", Warn, fmt.Sprintf("%d versions run side by side", len(versions)),
			"finish the upgrade: one node at a time"})
	}
	if len(fs) == 0 {
		fs = []Finding{{"", OK,
			fmt.Sprintf("node %d: %s, term %d, index %d, %s", s.NodeID, s.Role, s.CurrentTerm, s.Applied, agreement(s)), ""}}
	}
	return fs
}

// disputes reports the messages of other members that a node rejected.
func disputes(node uint32, all []api.Dispute) (fs []Finding) {
	for _, d := range all {
		fs = append(fs, Finding{"", Warn, fmt.Sprintf("node %d disputes what node %d says: %s", node, d.Peer, d.Says),
			cmp.Or(d.Verdict, "start the other voters: they say which of the two is wrong") + "; see deploy/runbooks/divergence.md"})
	}
	return fs
}

// agreement describes whether the members' states are equal.
func agreement(s *api.ClusterStatus) string {
	switch {
	case len(s.Peers) == 0:
		return "the only member"
	case s.Agreement == "agree":
		return "state equal to the others'"
	case !anyPeerReachable(s):
		return "state not compared: no other member answers"
	}
	return "state not compared: the others are at other indexes just now"
}

// clocks reports members whose clock is off. The members measure this in heartbeats.
func (e *examination) clocks(context.Context) (fs []Finding) {
	if e.running == nil {
		return nil
	}
	s := e.running
	for _, n := range s.Members() {
		if n.ClockOff {
			off := time.Duration(n.ClockOffset * float64(time.Millisecond)).Round(time.Millisecond)
			fs = append(fs, Finding{"", Fail, fmt.Sprintf("node %d's clock is %s off", n.NodeID, off), "run a time service on every node"})
		}
	}
	switch {
	case fs != nil:
		return fs
	case len(s.Peers) == 0:
		return []Finding{{"", OK, "not compared: the node is the only member", ""}}
	case !anyPeerReachable(s):
		return []Finding{{"", OK, "not compared: no other member answers", ""}}
	}
	return []Finding{{"", OK, "the members' clocks agree", ""}}
}

// anyPeerReachable reports whether the queried node can reach another member.
func anyPeerReachable(s *api.ClusterStatus) bool {
	return slices.ContainsFunc(s.Peers, func(p api.Peer) bool { return p.Reachable })
}
