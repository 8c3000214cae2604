package wire

import "fmt"

// Op is an opcode.
type Op uint8

// The opcodes. 0xB0 and 0xB1 are Cairn's own, and so are 0xD0 to 0xDA, spoken between peers only.
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

	OpError Op = 0xF0
	OpPing  Op = 0xF1
	OpPong  Op = 0xF2
)

type opInfo struct {
	text string // as the protocol's tables spell it
	name string // as error messages spell it
}

var opTable = map[Op]opInfo{
	OpAuth: {"AUTH", "Auth"}, OpAuthOK: {"AUTH_OK", "AuthOk"}, OpAuthFail: {"AUTH_FAIL", "AuthFail"},
	OpSelectDB: {"SELECT_DB", "SelectDb"}, OpCreateDB: {"CREATE_DB", "CreateDb"}, OpDBOK: {"DB_OK", "DbOk"},
	OpListDB: {"LIST_DB", "ListDb"}, OpListDBResult: {"LIST_DB_RESULT", "ListDbResult"},
	OpRemember: {"REMEMBER", "Remember"}, OpRememberOK: {"REMEMBER_OK", "RememberOk"},
	OpRememberBatch: {"REMEMBER_BATCH", "RememberBatch"},
	OpRecall:        {"RECALL", "Recall"}, OpRecallResult: {"RECALL_RESULT", "RecallResult"}, OpRecallEnd: {"RECALL_END", "RecallEnd"},
	OpRelate: {"RELATE", "Relate"}, OpRelateOK: {"RELATE_OK", "RelateOk"}, OpEdges: {"EDGES", "Edges"},
	OpEdgesResult: {"EDGES_RESULT", "EdgesResult"}, OpClaim: {"CLAIM", "Claim"}, OpClaimOK: {"CLAIM_OK", "ClaimOk"},
	OpClaims: {"CLAIMS", "Claims"}, OpClaimsResult: {"CLAIMS_RESULT", "ClaimsResult"}, OpAlias: {"ALIAS", "Alias"},
	OpAliasOK: {"ALIAS_OK", "AliasOk"}, OpForget: {"FORGET", "Forget"}, OpForgetOK: {"FORGET_OK", "ForgetOk"},
	OpSessionStart: {"SESSION_START", "SessionStart"}, OpSessionEnd: {"SESSION_END", "SessionEnd"},
	OpSessionOK: {"SESSION_OK", "SessionOk"}, OpThink: {"THINK", "Think"}, OpThinkResult: {"THINK_RESULT", "ThinkResult"},
	OpSubscribe: {"SUBSCRIBE", "Subscribe"}, OpEvent: {"EVENT", "Event"}, OpUnsubscribe: {"UNSUBSCRIBE", "Unsubscribe"},
	OpConflicts: {"CONFLICTS", "Conflicts"}, OpResolve: {"RESOLVE", "Resolve"}, OpConflictResult: {"CONFLICT_RESULT", "ConflictResult"},
	OpPersonality: {"PERSONALITY", "Personality"}, OpStats: {"STATS", "Stats"}, OpInfoResult: {"INFO_RESULT", "InfoResult"},
	OpOperation: {"OPERATION", "Operation"}, OpOperationResult: {"OPERATION_RESULT", "OperationResult"},
	OpClusterHello: {"CLUSTER_HELLO", "ClusterHello"}, OpClusterHelloOK: {"CLUSTER_HELLO_OK", "ClusterHelloOk"},
	OpOplogPull: {"OPLOG_PULL", "OplogPull"}, OpOplogPullResult: {"OPLOG_PULL_RESULT", "OplogPullResult"},
	OpOplogPush: {"OPLOG_PUSH", "OplogPush"}, OpOplogPushOK: {"OPLOG_PUSH_OK", "OplogPushOk"},
	OpHeartbeat: {"HEARTBEAT", "Heartbeat"}, OpHeartbeatAck: {"HEARTBEAT_ACK", "HeartbeatAck"},
	OpRequestVote: {"REQUEST_VOTE", "RequestVote"}, OpVoteGranted: {"VOTE_GRANTED", "VoteGranted"}, OpVoteDenied: {"VOTE_DENIED", "VoteDenied"},
	OpClusterStatus: {"CLUSTER_STATUS", "ClusterStatus"}, OpClusterStatusResult: {"CLUSTER_STATUS_RESULT", "ClusterStatusResult"},
	OpReadonlyError:             {"READONLY_ERROR", "ReadonlyError"},
	OpClusterDatabaseList:       {"CLUSTER_DATABASE_LIST", "ClusterDatabaseList"},
	OpClusterDatabaseListResult: {"CLUSTER_DATABASE_LIST_RESULT", "ClusterDatabaseListResult"},
	OpSnapshotBegin:             {"SNAPSHOT_BEGIN", "SnapshotBegin"}, OpSnapshotChunk: {"SNAPSHOT_CHUNK", "SnapshotChunk"},
	OpSnapshotOK: {"SNAPSHOT_OK", "SnapshotOk"}, OpTimeoutNow: {"TIMEOUT_NOW", "TimeoutNow"}, OpTimeoutNowOK: {"TIMEOUT_NOW_OK", "TimeoutNowOk"},
	OpForward: {"FORWARD", "Forward"}, OpForwardOK: {"FORWARD_OK", "ForwardOk"}, OpReadIndex: {"READ_INDEX", "ReadIndex"},
	OpReadIndexOK: {"READ_INDEX_OK", "ReadIndexOk"}, OpMembership: {"MEMBERSHIP", "Membership"}, OpMembershipOK: {"MEMBERSHIP_OK", "MembershipOk"},
	OpError: {"ERROR", "Error"}, OpPing: {"PING", "Ping"}, OpPong: {"PONG", "Pong"},
}

// Known says whether the opcode is in the table.
func (o Op) Known() bool { return opTable[o].text != "" }

// String is the protocol's spelling: "OPLOG_PUSH".
func (o Op) String() string {
	if o.Known() {
		return opTable[o].text
	}
	return fmt.Sprintf("0x%02X", uint8(o))
}

// Name is the spelling of error messages: "OplogPush".
func (o Op) Name() string {
	if o.Known() {
		return opTable[o].name
	}
	return fmt.Sprintf("0x%02X", uint8(o))
}
