// Package raft provides consensus: it configures hashicorp/raft and runs the peer port on which Raft travels inside
// the cluster opcodes. Records are opaque to it: it never decodes an entry, and knows neither clients nor
// permissions. Only node opens a Node; cmd uses the functions for stopped nodes (FoundAlone, Members, LogExtent,
// Recover, Records, Convert, AcceptLoss, Discard).
//
//	hashicorp/raft call                frame              answer
//	AppendEntries with entries         0xC4 OPLOG_PUSH    0xC5 OPLOG_PUSH_OK
//	AppendEntries without              0xC6 HEARTBEAT     0xC7 HEARTBEAT_ACK
//	RequestVote, RequestPreVote        0xC8 REQUEST_VOTE  0xC9 VOTE_GRANTED or 0xCA VOTE_DENIED
//	InstallSnapshot                    0xD0 BEGIN, 0xD1 CHUNK …   0xD2 SNAPSHOT_OK
//	TimeoutNow                         0xD3               0xD4
//	an entry on its way to the leader  0xD5 FORWARD       0xD6 FORWARD_OK
//	a linearizable read                0xD7 READ_INDEX    0xD8 READ_INDEX_OK
//	membership                         0xD9 MEMBERSHIP    0xDA MEMBERSHIP_OK
//	comparing a record and state sums  0xDB COMPARE       0xDC COMPARE_OK
//
// Each kind of traffic has its own connections to each peer, so a snapshot never delays a heartbeat. Trust boundary:
// every connection begins with CLUSTER_HELLO and a proof of the cluster secret (transport/hello.go). The proof alone
// lets a peer ask to join and read the log. A Raft message is processed only if it has a `raft` map, its sender is
// the node that said hello, and that node is a member (or this node has no configuration yet). A member without state
// processes none until a leader has taken its vote away (see amnesia.go). A message without the map comes from a
// foreign peer: it gets an answer and changes nothing here.
//
// A Node is opened once and closed once; its other methods may be called from any goroutine. The library's apply task
// alone calls the state machine, one call at a time. No lock is held over reads and writes of connections or files.
package raft
