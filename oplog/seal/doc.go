// Package seal encrypts what a node keeps on its disk.
//
// A master key, which the operator holds, wraps data keys, which lie wrapped in the home's keyring file. Everything
// is sealed under a data key; the master key seals nothing but data keys and backups, so changing it rewrites one
// small file. New data is sealed under the active data key; the older ones stay in the ring for what they sealed.
//
//	master key (file, environment or command)
//	   └─ wraps ─► data keys (HOME/keyring) ─► values, lines, files of this node
//	   └─ seals ─► backup files: they can be restored anywhere with the master key
//
// # A value
//
//	+----------+-----------+------------------------------+
//	| key id 4 | nonce  12 | AES-256-GCM ciphertext, tag  |
//	+----------+-----------+------------------------------+
//
// It is sealed under a key that HKDF-SHA256 derives from the data key for values. The nonce is random. The additional
// data says where the value lies, so that two values cannot change places. An active key serves 2^32 values before
// chance makes a repeated nonce thinkable; rotate before that.
//
// # A file
//
// A file is written once, from its beginning to its end, and read in any order. Everything in it begins at a sector
// of 512 bytes; numbers are big-endian.
//
//	head, 512   "CAIRNSEA" | version 2 | kind 1 | 0 0 | key id 4 | salt 32 | zeros | CRC-32C of these 4
//	blocks      CRC-32C of the next 20 bytes 4 | mark 1 bit, length 31 | since 4 | number 4, random 8 | ciphertext | tag 16
//
// kind 0 is sealed under a data key of this ring, kind 1 under the master key. The file's own key is HKDF-SHA256 of
// that key, with the salt, for the head's first 16 bytes. A block is AES-256-GCM: number and random bytes are its
// nonce, length and since its additional data. It holds 16,344 bytes and is 16 KiB long; one that ends at a mark may
// hold less, down to none, and is filled up with zeros to whole sectors before it is sealed.
//
// A mark says that the file was synced behind its block, or closed there; since is the number of the first block
// behind the mark before.
//
// Nonces. A block is never written again, not even the last one: after a sync the next bytes begin a new block. So a
// file's key seals each block number once. The random bytes are for a machine that is stopped, copied and goes on
// twice: both copies seal the same numbers under one key. No older version of a block exists that could be put in the
// place of a newer one.
//
// A crash. A file holds what is before its last mark. Behind that may be data that was never synced: whole blocks, or
// one that reached the disk in part. Such a torn block lacks a sector, or has one of zeros, and no mark behind it has
// a since that is greater than its number: that mark was written after another one, when all before that was on the
// disk. Any other difference is damage (torn.go). A file without a mark was never finished.
//
// Another key. A file names its key in its head, and is written once by one process: one that is under a key that was
// replaced before the ring was opened is not being written. It is copied next to itself and renamed (rewrite.go),
// also while it is read; then the old key can go.
//
// What a file cannot know: whether it was longer. A file that was synced more than once and is cut back to an earlier
// mark, or has zeros behind that, looks as it did then; one that was synced at its end alone, as all are but a
// store's manifest, is damaged when anything of it is missing. Nor does it know its name: a whole file in the place
// of another whole file of the same key, or an older one of the same name, is found by what refers to it.
//
// # The keyring file
//
// JSON, with indents of two spaces and a line feed at its end:
// {"version":2,"active":"<id>","keys":[{"id":…,"created":…,"master":"<id of the master
// key>","wrapped":"<base64>"}],"sum":"<64 hex digits>"}. sum is the SHA-256 of the same text with "" for it and
// without the line feed. A file that is not what it says, encoded again, is damaged. Ids are eight hex digits; a
// master key's id is taken from an HMAC of the key and says nothing else about it.
//
// A nil Ring is a node that does not encrypt: its methods pass data through untouched. All methods may be called from
// any goroutine.
package seal
