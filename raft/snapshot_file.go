package raft

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
	"github.com/cairndb/cairn/raft/logstore"
)

// A snapshot is one file:
//
//	state         as a leader sent it, sealed on an encrypted node; empty if the state machine has saved it
//	description   JSON: the index at which it ends, the members, the length of the state, and its CRC-64
//	end           length of the description u32 | CRC-32C of the description and its length u32
//
// The file is written under a temporary name, synced, and renamed when it is complete. So an incomplete file under
// the final name is damaged.

// description describes a snapshot. Its Size is the length of the state in the file.
type description struct {
	hraft.SnapshotMeta
	Sum     uint64 // of the state in the file
	Saved   bool   // the state machine has the state, under the snapshot's ID
	Applied uint64 // the last record in the state
}

const (
	endSize            = 4 + crc32.Size
	longestDescription = 1 << 20 // bounds the read when the length is damaged
)

var (
	endTable   = crc32.MakeTable(crc32.Castagnoli)
	stateTable = crc64.MakeTable(crc64.ECMA)
)

var errDescription = errors.New("its description is not what was written")

// encode returns the last part of the file: the description and the end.
func (d description) encode() ([]byte, error) {
	b, err := json.Marshal(d)
	b = binary.BigEndian.AppendUint32(b, uint32(len(b)))
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, endTable)), err
}

// readDescription reads the description of a snapshot from its file.
func readDescription(f logstore.File, id string) (d description, err error) {
	size, err := f.Size()
	if err != nil {
		return d, err
	}
	b := make([]byte, endSize)
	if size < endSize {
		return d, errDescription
	}
	if _, err := f.ReadAt(b, size-endSize); err != nil {
		return d, err
	}
	length := int64(binary.BigEndian.Uint32(b))
	if length > min(size-endSize, longestDescription) {
		return d, errDescription
	}
	b = make([]byte, length+endSize)
	if _, err := f.ReadAt(b, size-int64(len(b))); err != nil {
		return d, err
	}
	if crc32.Checksum(b[:length+4], endTable) != binary.BigEndian.Uint32(b[length+4:]) {
		return d, errDescription
	}
	if err := json.Unmarshal(b[:length], &d); err != nil {
		return d, err
	}
	if d.ID != id || d.Size != size-int64(len(b)) {
		return d, fmt.Errorf("it is called %s, and describes %s with a state of %d bytes", id, d.ID, d.Size)
	}
	return d, nil
}

// verifyState checks the state in a snapshot's file against its sum.
func (d description) verifyState(f logstore.File) error {
	h := crc64.New(stateTable)
	if _, err := io.Copy(h, io.NewSectionReader(f, 0, d.Size)); err != nil {
		return err
	}
	if h.Sum64() != d.Sum {
		return errors.New("its state is not what was written")
	}
	return nil
}

// snapshotSink makes a snapshot, either of a state that is written to it or of one that the state machine saves. It
// syncs its file while it writes. If it synced only at the end, syncs of the log would wait for the whole file.
type snapshotSink struct {
	snaps  *snapshots
	d      description
	file   logstore.File
	sum    hash.Hash64
	out    *bufio.Writer
	sealed *seal.Writer // writes to out; nil: plain, or nothing was written yet
	ended  bool         // the library may close a sink twice, or after it has cancelled it
}

func newSnapshotSink(s *snapshots, m hraft.SnapshotMeta, f logstore.File) *snapshotSink {
	k := &snapshotSink{snaps: s, d: description{SnapshotMeta: m}, file: f, sum: crc64.New(stateTable)}
	k.out = bufio.NewWriterSize(&syncwriter.Writer{W: io.MultiWriter(io.NewOffsetWriter(f, 0), k.sum), File: f}, syncwriter.DefaultEvery)
	return k
}

// Write implements io.Writer, for a state that a leader sends.
func (k *snapshotSink) Write(p []byte) (n int, err error) {
	if k.snaps.keys == nil {
		return k.out.Write(p)
	}
	if k.sealed == nil {
		if k.sealed, err = k.snaps.keys.Writer(k.out); err != nil {
			return 0, err
		}
	}
	return k.sealed.Write(p)
}

// save makes the state machine save its state. The saved state may include more records than the library asked for.
// Then the description names the last record in it, and the configuration as of that record, which members returns.
// members is nil if nothing is applied meanwhile.
func (k *snapshotSink) save(state Snapshot, members func(after, upTo uint64) (hraft.Configuration, uint64, error)) error {
	index, term, err := state.Save(k.d.ID)
	if err != nil {
		return err
	}
	k.d.Saved, k.d.Applied = true, index
	if index <= k.d.Index || members == nil { // the records in between are the library's own
		return nil
	}
	c, at, err := members(k.d.Index, index)
	if err != nil {
		return err
	}
	if at != 0 {
		k.d.Configuration, k.d.ConfigurationIndex = c, at
	}
	k.d.Index, k.d.Term = index, term
	return nil
}

// ID implements hraft.SnapshotSink.
func (k *snapshotSink) ID() string { return k.d.ID }

// Close implements hraft.SnapshotSink: once the snapshot is whole, older ones go.
func (k *snapshotSink) Close() error {
	if k.ended {
		return nil
	}
	path := k.snaps.path(k.d.ID)
	err := k.finish()
	if err == nil {
		err = k.snaps.files.Rename(path+unfinishedSnapshot, path)
	}
	if err != nil {
		return errors.Join(err, k.Cancel())
	}
	k.ended = true
	k.snaps.endCreate(k.d.ID)
	if err := errors.Join(k.file.Close(), k.snaps.files.SyncDir(k.snaps.dir)); err != nil { // before the log is compacted
		return err
	}
	return k.snaps.removeOld(0)
}

// finish writes the rest of the file, and syncs it.
func (k *snapshotSink) finish() (err error) {
	if k.sealed != nil {
		err = k.sealed.Close()
	}
	if err = errors.Join(err, k.out.Flush()); err != nil {
		return err
	}
	k.d.Sum = k.sum.Sum64()
	if k.d.Size, err = k.file.Size(); err != nil {
		return err
	}
	end, err := k.d.encode()
	if err == nil {
		_, err = k.file.WriteAt(end, k.d.Size)
	}
	if err != nil {
		return err
	}
	return k.file.Sync()
}

// Cancel implements hraft.SnapshotSink.
func (k *snapshotSink) Cancel() error {
	if k.ended {
		return nil
	}
	k.ended = true
	k.snaps.endCreate(k.d.ID)
	return errors.Join(k.file.Close(), k.snaps.files.Remove(k.snaps.path(k.d.ID)+unfinishedSnapshot), k.snaps.retainStates())
}
