package state

import (
	"encoding/binary"

	"github.com/cairndb/cairn/oplog"
)

// tableID names a kind of key. Numbers enter the Sum: append, never renumber.
type tableID uint8

const (
	tControl       tableID = 1  // cluster id, next database number, numbers of databases made by tokens
	tDatabase      tableID = 2  // id → Database
	tDatabaseName  tableID = 3  // name without its case → id
	tToken         tableID = 4  // hash → Token
	tNode          tableID = 5  // id → NodeInfo
	tLimit         tableID = 6  // "t/" token hash, "d/" database → Limit
	tAudit         tableID = 7  // number → AuditRow
	tTokenUse      tableID = 8  // token hash → time
	tConsent       tableID = 98 // hash of a token made by consent → Consented
	tConsentBy     tableID = 99 // hash of the token whose holder agreed, hash of the token made → ""
	tStats         tableID = 10 // "" → Stats
	tMemory        tableID = 11 // seq → Memory
	tRID           tableID = 12 // rid → seq
	tVector        tableID = 13 // seq → Vector
	tCreated       tableID = 14 // time seq
	tNamespace     tableID = 15 // name 0 seq
	tDue           tableID = 16 // time seq
	tRevision      tableID = 17 // seq number → Revision
	tVectorOdd     tableID = 18 // seq → Vector, of embedders with an odd number
	tEmbedding     tableID = 19 // "self" → Embedding
	tExpiry        tableID = 9  // time seq: memories that expire
	tPartitions    tableID = 94 // "self" → Partitions
	tDropped       tableID = 95 // id of a database whose rows are to be erased → index of the record that dropped it
	tEdge          tableID = 20 // id → Edge
	tTriple        tableID = 21 // src type dst → edge id
	tBySource      tableID = 22 // src id
	tByTarget      tableID = 23 // dst id
	tClaim         tableID = 24 // id → StoredClaim
	tStatement     tableID = 25 // statement → claim id
	tClaimBy       tableID = 26 // entity id
	tAlias         tableID = 27 // namespace alias → StoredAlias
	tEntity        tableID = 28 // name → Entity
	tEntityMemory  tableID = 29 // name 0 seq
	tSession       tableID = 30 // id → Session
	tSessionMemory tableID = 31 // id 0 seq
	tActivePair    tableID = 32 // namespace client → session id
	tActiveSession tableID = 33 // namespace 0 start id → session id
	tSessionStart  tableID = 34 // start id, active ones only
	tKey           tableID = 40 // idempotency key → keyRecord
	tKeyExpiry     tableID = 41 // time key
	tEvent         tableID = 50 // id → StoredEvent
	tEventHash     tableID = 51 // workspace session hash → event id
	tEventSummary  tableID = 52 // rid of the summary → event id
	tEventSession  tableID = 53 // workspace session → EventSession
	tEventCount    tableID = 54 // "last" → event id; "workspace" workspace → EventCounts
	tForeign       tableID = 42 // op id of a foreign peer → ""
	tPath          tableID = 43 // namespace key → seq, time since when
	tPathPast      tableID = 44 // namespace key time seq → time: who had a key until when, and since when

	tFolded        tableID = 80  // lower-case name 0 name → "": entities however they are written
	tPast          tableID = 81  // time seq → "": when memories stopped being what they were
	tConflict      tableID = 82  // id → ConflictRow
	tConflictPair  tableID = 83  // the sides in order → conflict id
	tConflictOrder tableID = 84  // status priority time id → conflict id
	tConflictSide  tableID = 85  // side 0 conflict id
	tTrigger       tableID = 86  // id → TriggerRow
	tTriggerOrder  tableID = 87  // status time id → trigger id
	tTriggerCool   tableID = 88  // cooldown key → trigger id, the newest
	tPattern       tableID = 89  // key → Pattern
	tMind          tableID = 90  // see the mind* keys
	tFeedback      tableID = 91  // number → Judgement
	tSessionPair   tableID = 92  // namespace client time id: every session, active or not
	tNamespaceSum  tableID = 93  // namespace 0 → Counts
	tQuarantined   tableID = 100 // seq: memories in quarantine
	tReread        tableID = 101 // seq: memories that changed since a round of cognition read them
	tErased        tableID = 96  // id → ErasedMemory
	tRefused       tableID = 97  // salted hash of a text → index of the record that erased it
	tOperator      tableID = 60  // "operator" → key; "last grant" → number
	tIdentity      tableID = 61  // key → Identity
	tReceipt       tableID = 62  // id → Receipt
	tReceiptBy     tableID = 63  // payer time 0 id
	tReceiptTime   tableID = 64  // time 0 id
	tReceiptOf     tableID = 65  // rid id
	tGrant         tableID = 66  // signature → StoredGrant
	tGrantOrder    tableID = 67  // number → signature
	tGrantAction   tableID = 68  // subject action number → signature
	tGrantSubject  tableID = 69  // subject number → signature
	tGrantRevoked  tableID = 70  // time 0 signature
)

// tableNames are for errors.
var tableNames = map[tableID]string{
	tControl: "control", tDatabase: "databases", tDatabaseName: "database-names", tDropped: "dropped",
	tToken: "tokens", tNode: "nodes", tLimit: "limits", tAudit: "audits", tTokenUse: "token-uses", tConsent: "consents",
	tConsentBy: "consents-by-token", tStats: "stats", tMemory: "memories",
	tRID: "rids", tVector: "vectors", tVectorOdd: "vectors-odd", tEmbedding: "embedding", tPartitions: "partitions",
	tCreated: "by-created", tNamespace: "by-namespace",
	tDue: "by-due", tExpiry: "by-expiry", tRevision: "revisions", tEdge: "edges", tTriple: "triples",
	tBySource: "edges-by-source", tByTarget: "edges-by-target", tClaim: "claims",
	tStatement: "statements", tClaimBy: "claims-by-entity", tAlias: "aliases",
	tEntity: "entities", tEntityMemory: "memories-by-entity", tSession: "sessions",
	tSessionMemory: "memories-by-session", tActivePair: "active-pairs",
	tActiveSession: "active-sessions", tSessionStart: "active-by-start",
	tEvent: "events", tEventHash: "events-by-hash", tEventSummary: "events-by-summary",
	tEventSession: "event-sessions", tEventCount: "event-counts",
	tKey: "keys", tKeyExpiry: "keys-by-expiry", tForeign: "foreign", tPath: "by-path", tPathPast: "past-paths",
	tFolded: "entities-folded", tPast: "past", tConflict: "conflicts",
	tConflictPair: "conflicts-by-pair", tConflictOrder: "conflicts-in-order",
	tConflictSide: "conflicts-by-side", tTrigger: "triggers", tTriggerOrder: "triggers-in-order",
	tTriggerCool: "triggers-by-cooldown", tPattern: "patterns", tMind: "mind",
	tFeedback: "feedback", tSessionPair: "sessions-by-pair",
	tNamespaceSum: "namespace-sums", tQuarantined: "held", tReread: "reread", tErased: "erased", tRefused: "refused",
	tOperator: "operator", tIdentity: "identities", tReceipt: "receipts",
	tReceiptBy: "receipts-by-payer", tReceiptTime: "receipts-by-time", tReceiptOf: "receipts-by-memory",
	tGrant: "grants", tGrantOrder: "grants-by-number", tGrantAction: "grants-by-action",
	tGrantSubject: "grants-by-subject", tGrantRevoked: "grants-by-revocation",
	tMeta: "meta", tLog: "log",
}

// Tables that are not part of the Sum, in database 0: they may differ between nodes.
const (
	tMeta tableID = 254 // see position.go
	tLog  tableID = 255 // index → logRow
)

// rowHead is the length of the head of every row's key: four bytes for the database, one for the table. So the rows
// of a database are one range, and so are those of each table.
const rowHead = 5

// appendRow appends the key of a row in the store.
func appendRow(dst []byte, table tableID, db oplog.DB, key []byte) []byte {
	return append(append(binary.BigEndian.AppendUint32(dst, uint32(db)), byte(table)), key...)
}

// rowOf splits the store's key of a row.
func rowOf(key []byte) (table tableID, db oplog.DB, rest []byte, ok bool) {
	if len(key) < rowHead {
		return 0, 0, nil, false
	}
	return tableID(key[4]), oplog.DB(binary.BigEndian.Uint32(key)), key[rowHead:], true
}

// The keys of tMind.
var (
	mindSelf        = []byte("self")        // Mind; see mindOf for those of namespaces
	mindPersonality = []byte("personality") // Personality
	mindWeights     = []byte("weights")     // Weights
	mindSettings    = []byte("settings")    // Settings
)

func dbKey(db oplog.DB) []byte { return binary.BigEndian.AppendUint32(nil, uint32(db)) }

func be64(v uint64) []byte { return binary.BigEndian.AppendUint64(make([]byte, 0, 16), v) }

func beUint64(b []byte) uint64 {
	if len(b) < 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}

func seqKey(s oplog.Seq) []byte { return be64(uint64(s)) }

// seqOf returns the number at the end of a key.
func seqOf(key []byte) oplog.Seq { return oplog.Seq(beUint64(key[len(key)-8:])) }

// timeKey sorts by time, also before 1970.
func timeKey(t oplog.Time, s oplog.Seq) []byte {
	return binary.BigEndian.AppendUint64(be64(uint64(t)^(1<<63)), uint64(s))
}

// nameKey returns a name's prefix (see joinKey) and a sequence number.
func nameKey(name string, s oplog.Seq) []byte {
	return binary.BigEndian.AppendUint64(joinKey(name, ""), uint64(s))
}

// joinKey joins strings into one key, so that different lists have different keys: the length of each part but the
// last precedes it. joinKey(x, "") is the prefix of all keys that begin with x.
func joinKey(parts ...string) []byte {
	n := 0
	for _, p := range parts {
		n += len(p) + 4
	}
	k := make([]byte, 0, n+8)
	for i, p := range parts {
		if i < len(parts)-1 {
			k = binary.BigEndian.AppendUint32(k, uint32(len(p)))
		}
		k = append(k, p...)
	}
	return k
}

// cutKey splits a key of joinKey into its first part and the rest.
func cutKey(key []byte) (part, rest []byte) {
	n := 4 + binary.BigEndian.Uint32(key)
	return key[4:n], key[n:]
}
