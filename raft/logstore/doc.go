// Package logstore stores a member's Raft log, its term and its vote: segments to which records are only ever
// appended, and two small files next to them. It implements hraft.LogStore (Store) and hraft.StableStore (Votes). It
// never decides whether a record counts: package raft opens it, and hashicorp/raft calls it from its tasks. There is
// one writer at a time and any number of readers.
//
//	meta                        where the log and what is kept before it begin, what was cut off its end, and what is committed
//	votes.db                    term and vote: raft-boltdb's file
//	00000000000000000001.seg    records from 1 on
//	00000000000000009120.seg    records from 9120 on: the last segment takes what is appended
//
// All numbers are big-endian. A segment is
//
//	header   "cairnlg1" | first record u64 | salt u64 | length of the file u64 | 1: sealed, 0: plain u8 | CRC-32C u32 | zeros up to 64
//	frames   head | body | CRC-32C u32
//	zeros    room that the disk has given already: a sync of what is written there has no size of a file to write
//
//	head     length of the body u32 | index u64 | term u64 | kind u8 | stamp u64 | length of the extensions u32
//	body     extensions, data
//
// A frame is a record or a mark. A record has the time of its append, in ns, as its stamp. A mark has kind 255 and no
// body; its index is that of the last record before it, its term is the last record known to be committed, and its
// stamp is the length of the file. The CRC of a frame covers the log's salt, the segment's first record and the
// frame's offset as well, so a frame is valid only where it was written. The salt is random, so that no client can
// make data that looks like a frame. In an encrypted log the body of a record is a sealed value bound to the same
// values and to the head; its tag replaces the CRC. Marks have a CRC in both kinds of log.
//
// meta is a line of JSON, sealed in an encrypted log, followed by its CRC-32C in hex and a newline. To change it, the
// store writes a new file, syncs it, and renames it over the old one.
//
// votes.db is made after meta and before the first record, so a missing one is noticed. Term, vote and the vote's
// term form one record, in the format of meta. It is stored twice, because bbolt uses the previous transaction when
// the page that names the newest one is damaged. So a changed bit is detected, or lies in an unused page. The file is
// read at the start; from then on the values are in memory. The first write after a start makes a new file.
//
// # What is on the disk
//
// The store writes the records of one call at once and syncs once. After the sync it writes a mark, which is not
// synced itself: the mark states that everything before it is on disk. The next records follow the mark. So after any
// crash:
//
//   - Everything before a mark was on disk, and so was every segment but the last. A broken frame there is damage.
//   - After the last mark are the records of the last call, or none. They count up to the first broken frame: the
//     records from there on were never acknowledged, and the next start overwrites them with zeros.
//   - A file never becomes shorter. A file that is shorter than its header or a mark states is damaged.
//   - meta names the newest segment, and after Close the last record. If one of them is missing, a file is missing.
//
// So one changed bit is detected, or lies in unused bytes; it never turns the log into another valid log. One case is
// not detected: in the last segment of a store that was not closed, all bytes from some mark on change at once. That
// looks like a crash.
//
// # Deleting
//
// To delete records that a snapshot covers, the store writes the log's new beginning into meta. It retains the
// records before it from Options.Retain on: they are not part of the log, and only a Reader finds them. It removes
// segments that end before those. A start reads no segment that ends before the log begins. Erase also rewrites the
// segment in which the retained records begin; a retained record that it changes gets "erased" as its extensions.
//
// To remove a conflicting end, the store writes the new last segment under a temporary name, removes the segments
// after it, the newest first, and renames the new one; before that, meta records how far the log reached. Reseal
// rewrites segments under another key. A rewritten segment is written under a temporary name and renamed when it is
// complete.
package logstore
