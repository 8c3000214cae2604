// Package wire is the cluster protocol: frames on a stream, and the messages inside them. It knows bytes and nothing
// else; it opens no sockets, starts no goroutines and imports no other package of this module but wire/field, which
// describes values, and wire/large, which reads long payloads. Any package may call it: one goroutine at a time per
// Reader, everything else from any. Every byte that it reads may be hostile: it checks a length before it allocates,
// and a depth before it recurses.
//
// # Frames
//
//	+-----------+----------+-------+--------------+---------+
//	| len  4 BE | flags 1  | op 1  | stream  4 BE | payload |
//	+-----------+----------+-------+--------------+---------+
//
// len counts every byte after itself: 6 at least, 16,777,222 at most. The low six bits of flags are the
// version, 1; 0x40 marks a zstd payload, 0x80 a JSON one (decompress first, then parse; a JSON request is
// answered in JSON). A payload of 4,096 bytes or more is compressed when that makes it smaller. The stream
// id is the requester's choice, and every frame of the answer bears it.
//
// # Messages
//
// A payload is one msgpack map from field names to values. The struct of a message describes its fields once
// (Message), in the order in which they are written. A reader takes less orderly payloads too: any order, a
// positional array instead of the map, field numbers or bytes as keys, integers for floats, float64 or integers in
// embeddings, bytes for a byte vector that is otherwise an array of integers. Unknown keys are skipped, except in a
// client's request, which is read exactly (UnpackExact): there they are rejected, and so are numbers out of range. A
// duplicate key, a missing required field, nil for a field that is not optional, an integer out of range and invalid
// UTF-8 are always rejected. Before anything is decoded the payload is scanned without recursion: no deeper than
// 1,024, no header announcing more than is there.
//
// Dates are written as Unix seconds and read from RFC 3339 text as well; a date that is neither is rejected.
//
// Fields called extensions are Cairn's own. They are left out when unset, so older peers get
// the bytes that they expect.
//
// # Conversations
//
// A client sends AUTH first; anything else is answered ERROR 1000 and closed. Frames of different streams
// may interleave, those of one stream keep their order. RECALL is answered by any number of RECALL_RESULT
// and one RECALL_END. SUBSCRIBE is answered by EVENT frames on its stream until UNSUBSCRIBE. A write that a
// node may not take is answered READONLY_ERROR, shaped like ERROR, with the leader in its details. A client may end
// its side behind its last request: it is answered, and then the server ends the other.
//
// A position in the log is a token: `index` of an answer to a write, `min_index` of a read and `cursor` of SUBSCRIBE
// are eight bytes that a client passes on and does not read. A server takes the integers of older clients too.
//
// OPERATION, 0xB0, asks for any operation of the HTTP reference by its name, with the fields that the reference
// lists, wherever HTTP puts them; OPERATION_RESULT, 0xB1, has the answer as the reference describes it. Both are
// extensions. An answer is at most about 16 MiB long and has at most 262,144 values; one that would be more is
// rejected with ERROR 4000, and so are operations that are streams or files, with where to ask for them.
//
// A peer sends CLUSTER_HELLO first. A member sends two: the first has its id and a nonce and nothing else. The answer
// has the other member's id, a nonce and a mac; the second hello has all, and its own mac. A mac is HMAC-SHA256
// with the cluster secret over "cairn hello server\0" or "cairn hello client\0", the nonce of the dialing and of the
// answering side (32 bytes each), and their ids (4 bytes each, big-endian). The answering side sends one mac for each
// secret that it accepts. A peer that is not a member sends the secret itself, and no `raft` map.
//
// The secret admits a node, and its ed25519 key says which node it is. The second hello and its answer carry the
// sender's public key, its address and a proof: the signature of the same bytes as the mac of that side, followed by
// the purpose, a zero byte and the address. A member's id with another key than the cluster knows for it is rejected.
// With stateless the sender says that it has no state: a leader may take the new key of such a member.
//
// The `raft` map of a member's second hello says which cluster it belongs to, what the connection will carry, and
// what its version reads: entry_min to entry_max are versions of log records, state_min to state_max formats of
// snapshots, reads the numbers of operations it knows, a byte each, and needs those that its log holds and not every
// version knows. Either side rejects the other, with the reason, when one could not read the other's log, and a hello
// that does not say what its version reads. With checksum, CRC-32C of the hello as it is encoded without that field,
// the sender ends each later frame with four bytes that len counts: CRC-32C, big-endian, of all bytes of the frame
// before them. A member that answers such a hello does the same, and a frame that does not match is answered ERROR
// 4000 and passed over. Raft travels inside OPLOG_PUSH, HEARTBEAT and REQUEST_VOTE as the extension `raft`; 0xD0 to
// 0xDC are snapshots, forwarding, read indexes, membership and comparing.
package wire
