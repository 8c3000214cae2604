// Package logstore stores a member's Raft log, its term and its vote: segments to which records are only ever
// appended, and two small files next to them. It implements hraft.LogStore (Store) and hraft.StableStore (Votes). It
// never decides whether a record counts: package raft opens it, and hashicorp/raft calls it from its tasks. One
// writer at a time, any readers.
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
// A frame is a record, stamped with the time at which it was appended in ns, or a mark: kind 255, no body, the index
// of the last record before it, as term the last record that was known to be committed, and as stamp how long the
// file was. A frame's CRC is taken of the log's salt, the segment's first record and the frame's offset as well: a
// frame counts nowhere else than where it was written. The salt is random, so that no client can make data that looks
// like a frame. In an encrypted log the body of a record is a sealed value that is bound to the same, with the head;
// its tag stands for the CRC. Marks have a CRC in both.
//
// meta is a line of JSON, or that sealed, and behind it the CRC-32C of what is before, in hex, with a newline. It is
// written again, synced, and renamed over the old one.
//
// votes.db is made after meta and before the first record, so a missing one is noticed. Term, vote and its term are
// one record, which is stored as meta is, and twice: bbolt goes on with the transaction before the newest when the
// page that names that is damaged. So a changed bit is damage, or lies in a page that is not in use. It is read at
// the start; from then on the values are in memory.
//
// # What is on the disk
//
// Records of one call are written at once and synced once. Only then a mark follows, which is not synced itself: it
// says that the disk has all that is before it. The next records are written behind the mark. So after any crash:
//
//   - Everything before a mark was on the disk, and so was all of a segment that another follows. A broken frame
//     there is damage.
//   - Behind the last mark are the records of the last call, or none. They count up to the first broken frame: the
//     records from there on were never acknowledged, and the next start overwrites them with zeros.
//   - A file is never made shorter. A file shorter than its header or a mark says is damage.
//   - meta names the newest segment, and after Close the last record. If they are not there, a file is missing.
//
// So one changed bit is damage, or lies in unused bytes; it never turns the log into another valid log. One case is
// not detected: all bytes from some mark on change at once, in the last segment of a store that was not closed. That
// looks like a crash.
//
// # Deleting
//
// To delete records that a snapshot holds, the store writes the log's new beginning into meta. Of the records before
// it those from Options.Retain on are kept: they are not part of the log, and only a Reader finds them. Segments that
// end before those are removed. A start reads no segment that ends before the log begins. Erase also rewrites the
// segment in which what is kept begins; a kept record that it changes has "erased" as its extensions. To remove a
// conflicting end, it makes the segment in which the log then ends, removes those behind it, the newest first, and
// renames the one that it has made; meta says before how far the log reached. Reseal rewrites segments under another
// key. A rewritten segment is made under another name and renamed when it is whole.
package logstore
