package wire

import (
	"fmt"
	"strings"
)

// Op is an opcode.
type Op uint8

// The opcodes. 0xB0 and 0xB1 are Cairn's own, and so are 0xD0 to 0xDC, which only peers use.
const (
	OpAuth           Op = 0x01
	OpAuthOK         Op = 0x02
	OpAuthFail       Op = 0x03
	OpSelectDB       Op = 0x10
	OpCreateDB       Op = 0x11
	OpDBOK           Op = 0x12
	OpListDB         Op = 0x13
	OpListDBResult   Op = 0x14
	OpRemember       Op = 0x20
	OpRememberOK     Op = 0x21
	OpRememberBatch  Op = 0x22
	OpRecall         Op = 0x30
	OpRecallResult   Op = 0x31
	OpRecallEnd      Op = 0x32
	OpRelate         Op = 0x40
	OpRelateOK       Op = 0x41
	OpEdges          Op = 0x42
	OpEdgesResult    Op = 0x43
	OpClaim          Op = 0x44
	OpClaimOK        Op = 0x45
	OpClaims         Op = 0x46
	OpClaimsResult   Op = 0x47
	OpAlias          Op = 0x48
	OpAliasOK        Op = 0x49
	OpForget         Op = 0x50
	OpForgetOK       Op = 0x51
	OpSessionStart   Op = 0x60
	OpSessionEnd     Op = 0x61
	OpSessionOK      Op = 0x62
	OpThink          Op = 0x70
	OpThinkResult    Op = 0x71
	OpSubscribe      Op = 0x80
	OpEvent          Op = 0x81
	OpUnsubscribe    Op = 0x82
	OpConflicts      Op = 0x90
	OpResolve        Op = 0x91
	OpConflictResult Op = 0x92
	OpPersonality    Op = 0xA0
	OpStats          Op = 0xA1
	OpInfoResult     Op = 0xA2

	OpOperation       Op = 0xB0
	OpOperationResult Op = 0xB1

	OpClusterHello              Op = 0xC0
	OpClusterHelloOK            Op = 0xC1
	OpOplogPull                 Op = 0xC2
	OpOplogPullResult           Op = 0xC3
	OpOplogPush                 Op = 0xC4
	OpOplogPushOK               Op = 0xC5
	OpHeartbeat                 Op = 0xC6
	OpHeartbeatAck              Op = 0xC7
	OpRequestVote               Op = 0xC8
	OpVoteGranted               Op = 0xC9
	OpVoteDenied                Op = 0xCA
	OpClusterStatus             Op = 0xCB
	OpClusterStatusResult       Op = 0xCC
	OpReadonlyError             Op = 0xCD
	OpClusterDatabaseList       Op = 0xCE
	OpClusterDatabaseListResult Op = 0xCF

	OpSnapshotBegin Op = 0xD0
	OpSnapshotChunk Op = 0xD1
	OpSnapshotOK    Op = 0xD2
	OpTimeoutNow    Op = 0xD3
	OpTimeoutNowOK  Op = 0xD4
	OpForward       Op = 0xD5
	OpForwardOK     Op = 0xD6
	OpReadIndex     Op = 0xD7
	OpReadIndexOK   Op = 0xD8
	OpMembership    Op = 0xD9
	OpMembershipOK  Op = 0xDA
	OpCompare       Op = 0xDB
	OpCompareOK     Op = 0xDC

	OpError Op = 0xF0
	OpPing  Op = 0xF1
	OpPong  Op = 0xF2
)

// opNames maps opcodes to their names in the protocol. In the map below, a row names consecutive opcodes from its key
// on.
var opNames = func() (names [256]string) {
	for first, row := range map[Op]string{
		OpAuth:                "AUTH AUTH_OK AUTH_FAIL",
		OpSelectDB:            "SELECT_DB CREATE_DB DB_OK LIST_DB LIST_DB_RESULT",
		OpRemember:            "REMEMBER REMEMBER_OK REMEMBER_BATCH",
		OpRecall:              "RECALL RECALL_RESULT RECALL_END",
		OpRelate:              "RELATE RELATE_OK EDGES EDGES_RESULT CLAIM CLAIM_OK CLAIMS CLAIMS_RESULT ALIAS ALIAS_OK",
		OpForget:              "FORGET FORGET_OK",
		OpSessionStart:        "SESSION_START SESSION_END SESSION_OK",
		OpThink:               "THINK THINK_RESULT",
		OpSubscribe:           "SUBSCRIBE EVENT UNSUBSCRIBE",
		OpConflicts:           "CONFLICTS RESOLVE CONFLICT_RESULT",
		OpPersonality:         "PERSONALITY STATS INFO_RESULT",
		OpOperation:           "OPERATION OPERATION_RESULT",
		OpClusterHello:        "CLUSTER_HELLO CLUSTER_HELLO_OK OPLOG_PULL OPLOG_PULL_RESULT OPLOG_PUSH OPLOG_PUSH_OK HEARTBEAT HEARTBEAT_ACK",
		OpRequestVote:         "REQUEST_VOTE VOTE_GRANTED VOTE_DENIED CLUSTER_STATUS CLUSTER_STATUS_RESULT READONLY_ERROR",
		OpClusterDatabaseList: "CLUSTER_DATABASE_LIST CLUSTER_DATABASE_LIST_RESULT",
		OpSnapshotBegin:       "SNAPSHOT_BEGIN SNAPSHOT_CHUNK SNAPSHOT_OK TIMEOUT_NOW TIMEOUT_NOW_OK",
		OpForward:             "FORWARD FORWARD_OK READ_INDEX READ_INDEX_OK MEMBERSHIP MEMBERSHIP_OK COMPARE COMPARE_OK",
		OpError:               "ERROR PING PONG",
	} {
		for i, name := range strings.Fields(row) {
			names[int(first)+i] = name
		}
	}
	return names
}()

// Known reports whether the opcode is in the table.
func (o Op) Known() bool { return opNames[o] != "" }

// String returns the protocol's spelling: "OPLOG_PUSH".
func (o Op) String() string {
	if o.Known() {
		return opNames[o]
	}
	return fmt.Sprintf("0x%02X", uint8(o))
}

// Name returns the spelling in error messages: "OplogPush".
func (o Op) Name() (name string) {
	if !o.Known() {
		return o.String()
	}
	for word := range strings.SplitSeq(o.String(), "_") {
		name += word[:1] + strings.ToLower(word[1:])
	}
	return name
}
