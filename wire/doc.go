// Package wire implements the encoding of the cluster protocol: frames on a stream, and the messages inside them. It
// opens no sockets, starts no goroutines and imports no other package of this module but wire/field, which describes
// values, and wire/large, which reads long payloads. A Reader is for one goroutine at a time; everything else is safe
// for concurrent use. Input may be hostile: the package checks lengths before it allocates, and depth before it
// recurses.
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
// id is chosen by the requester, and every frame of the answer has the same id.
//
// # Messages
//
// A payload is one msgpack map from field names to values. The struct of a message describes its fields (Message), in
// the order in which they are written. A reader also accepts other encodings: any order of fields, a positional array
// instead of the map, field numbers or bytes as keys, integers for floats, float64 or integers in embeddings, and
// bytes for a byte vector that is otherwise an array of integers. It skips unknown keys, except in a client's request
// (UnpackExact), where it rejects them and numbers out of range. It always rejects a duplicate key, a missing
// required field, nil for a field that is not optional, an integer out of range and invalid UTF-8. Before decoding,
// it scans the payload without recursion: the depth is at most 1,024, and no header may announce more than follows.
//
// Dates are written as Unix seconds and read from RFC 3339 text as well; a date that is neither is rejected.
//
// Fields called extensions are Cairn's own. They are omitted when unset, so older peers receive the bytes that they
// expect.
//
// # Conversations
//
// A client sends AUTH first; the server answers anything else with ERROR 1000 and closes the connection. Frames of
// different streams may interleave; those of one stream keep their order. The answer to RECALL is any number of
// RECALL_RESULT and one RECALL_END. The answer to SUBSCRIBE is EVENT frames on its stream until UNSUBSCRIBE. A node
// that is not the leader rejects a write with READONLY_ERROR, which has the form of ERROR and the leader in its
// details. A client may close its side after its last request: the server answers it and then closes the other side.
//
// A position in the log is a token: `index` of an answer to a write, `min_index` of a read and `cursor` of SUBSCRIBE
// are eight bytes that are opaque to clients. A server also accepts the integers of older clients.
//
// OPERATION, 0xB0, executes any operation of the HTTP reference by its name, with all fields that the reference lists
// in one object; OPERATION_RESULT, 0xB1, has the answer as in the reference. Both are extensions. An answer is at
// most about 16 MiB long and has at most 262,144 values. Larger answers are rejected with ERROR 4000, and so are
// operations that are streams or files; the error says where they are available.
//
// A peer sends CLUSTER_HELLO first. A member sends two: the first has only its id and a nonce. The answer has the
// other member's id, a nonce and a mac; the second hello has all fields, and its own mac. A mac is HMAC-SHA256 with
// the cluster secret over "cairn hello server\0" or "cairn hello client\0", the nonce of the dialing and of the
// answering side (32 bytes each), and their ids (4 bytes each, big-endian). The answering side sends one mac for each
// secret that it accepts. A peer that is not a member sends the secret itself, and no `raft` map.
//
// The secret admits a node, and its ed25519 key identifies it. The second hello and its answer carry the sender's
// public key, its address and a proof: the signature of the same bytes as the mac of that side, followed by the
// purpose, a zero byte and the address. A member with another key than the cluster knows for its id is rejected. With
// stateless the sender reports that it has no state: a leader may accept the new key of such a member.
//
// The `raft` map of a member's second hello names its cluster, the purpose of the connection, and the formats that
// its version supports: entry_min to entry_max are versions of log records, state_min to state_max are formats of
// snapshots, reads lists the numbers of the supported operations, a byte each, and needs lists those in its log that
// not every version supports. Either side rejects the other, with the reason, if one could not read the other's log,
// or if the hello does not list the supported formats. With checksum, CRC-32C of the hello as it is encoded without
// that field, the sender ends each later frame with four bytes that len counts: CRC-32C, big-endian, of all bytes of
// the frame before them. A member that answers such a hello does the same. A receiver answers a frame with a wrong
// checksum with ERROR 4000 and skips it. Raft travels inside OPLOG_PUSH, HEARTBEAT and REQUEST_VOTE as the extension
// `raft`; 0xD0 to 0xDC are for snapshots, forwarding, read indexes, membership and the comparison of states.
package wire
