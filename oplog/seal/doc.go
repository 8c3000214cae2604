// Package seal encrypts what a node keeps on its disk.
//
// A master key, which the operator holds, wraps data keys, which lie wrapped in the home's keyring file. Everything is
// sealed under a data key; the master key seals nothing but data keys and the keys of backups, so changing it rewrites
// one small file. New data is sealed under the active data key; the older ones stay in the ring for what they sealed.
//
//	master key (file, environment or command)
//	   └─ wraps ─► data keys (HOME/keyring) ─► values, lines, files of this node
//	   └─ wraps ─► the key of one backup file, in that file's head: it can be restored anywhere with the master key
//
// # A value
//
//	+----------+-----------+------------------------------+
//	| key id 4 | nonce  12 | AES-256-GCM ciphertext, tag  |
//	+----------+-----------+------------------------------+
//
// The nonce is random. The additional data says where the value lies, so that two values cannot change places. An
// active key serves 2^32 values before chance makes a repeated nonce thinkable; rotate before that.
//
// # A name
//
// A part of a database key must be found again, so equal names become equal bytes: a 16-byte synthetic IV, the
// HMAC-SHA256 of label and name, and the name under AES-256-CTR from that IV. Reading computes the HMAC again. What it
// gives away is that two names are equal and how long they are, and nothing of their order. The keys for names belong to one
// data key, which a file names when it is made.
//
// # A file
//
//	"CAIRNSEA" | version 1 | kind 1 | wrapping key id 4 | wrapped file key 60 | chunks
//
// kind 0 is wrapped by a data key of this ring, kind 1 by the master key. A chunk is 64 KiB under the file's own key, AES-256-GCM
// with the chunk's number and a mark of the last one as nonce; the last is shorter, and an empty file is one empty chunk.
// A file that was cut, reordered or continued does not open.
//
// # The keyring file
//
// JSON: {"version":1,"active":"<id>","keys":[{"id":…,"created":…,"master":"<id of the master key>","wrapped":"<base64>"}]}.
// Ids are eight hex digits; a master key's id is taken from an HMAC of the key and says nothing else about it.
//
// A nil Ring is a node that does not encrypt: its methods pass data through untouched. All methods may be called from
// any goroutine.
package seal
