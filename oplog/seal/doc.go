// Package seal encrypts what a node stores on its disk.
//
// The operator's master key wraps the data keys. The wrapped data keys are in the home's keyring file. All data is
// sealed under a data key. The master key seals only data keys and backups, so changing it rewrites one small file. New
// data is sealed under the active data key; older data keys stay in the ring for the data that they sealed.
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
// data is the value's place, so that two values cannot be swapped. Rotate the active key before it has sealed 2^32
// values, from when on a repeated nonce is no longer improbable enough.
//
// # A file
//
// A file is written once, from its beginning to its end, and read in any order. Its parts begin at sectors of 512
// bytes. Numbers are big-endian.
//
//	head, 512   "CAIRNSEA" | version 2 | kind 1 | 0 0 | key id 4 | salt 32 | zeros | CRC-32C of these 4
//	blocks      CRC-32C of the next 20 bytes 4 | mark 1 bit, length 31 | since 4 | number 4, random 8 | ciphertext | tag 16
//
// Kind 0 is sealed under a data key of this ring, kind 1 under the master key. Each file has its own key, which
// HKDF-SHA256 derives from that key with the salt and the head's first 16 bytes. A block is AES-256-GCM: its number and
// random bytes are the nonce, and length and since are the additional data. A block has 16,344 bytes of data and is
// 16 KiB long. One that ends at a mark may have less data, or none, and is padded with zeros to whole sectors before it
// is sealed.
//
// A mark says that the file was synced or closed after its block. since is the number of the first block after the
// previous mark.
//
// Nonces. No block is ever rewritten, not even the last one: after a sync the next bytes begin a new block. So the
// file's key seals each block number once. The random bytes protect a machine that is stopped and copied: both copies
// may then seal the same numbers under one key. No older version of a block exists that could replace a newer one.
//
// Crashes. A file consists of the blocks up to its last mark. After that there may be data that was never synced: whole
// blocks, or one that reached the disk only in part. Such a torn block lacks a sector, or has a sector of zeros, and no
// later mark has a since that is greater than its number. Such a mark would prove that the block was synced: it was
// written when everything before the previous mark was on the disk. Any other difference is damage (torn.go). A file
// without a mark was never completed.
//
// Other keys. A file names its key in its head, and is written once by one process. So a file under a key that was
// replaced before the ring was opened is no longer being written. It is copied next to itself, and the copy is renamed
// to the file's name (rewrite.go), even while the file is read. Then the old key can be removed.
//
// Limits. A file does not show whether it was longer. If it was synced several times and is truncated at an earlier
// mark, or has zeros after that, it looks complete. Only a store's manifest is synced several times; all other files
// are synced once at the end, so that any missing part is damage. Nor does a file know its name: if a file is replaced
// by another one of the same key, or by an older one of the same name, only those who refer to it can find out.
//
// # The keyring file
//
// It is JSON, indented by two spaces, with a line feed at its end:
// {"version":2,"active":"<id>","keys":[{"id":…,"created":…,"master":"<id of the master
// key>","wrapped":"<base64>"}],"sum":"<64 hex digits>"}. sum is the SHA-256 of the same text with an empty sum and
// without the line feed. A file that differs from the encoding of its content is damaged. Ids are eight hex digits; a
// master key's id is a part of an HMAC of the key and reveals nothing else about it.
//
// A nil Ring belongs to a node that does not encrypt: its methods pass data through unchanged. All methods may be
// called from any goroutine.
package seal
