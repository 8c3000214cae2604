package transport

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// chunkSize is the size of the part of a snapshot in one frame.
const chunkSize = 256 << 10

func (t *Transport) InstallSnapshot(id hraft.ServerID, addr hraft.ServerAddress, a *hraft.InstallSnapshotRequest, resp *hraft.InstallSnapshotResponse, data io.Reader) error {
	c, err := t.Pool.dialMember(t.ctx, NodeID(id), string(addr), ForSnapshot)
	if err != nil {
		t.host.WaitAnswer(t.ctx, NodeID(id))
		return err
	}
	defer t.Pool.Drop(c)
	t.o.Log.Info("sending snapshot", "peer", id, "index", a.LastLogIndex, "bytes", a.Size)
	if err := sendSnapshot(c, t.o.NodeID, t.o.Advertise, a, data); err != nil {
		return fmt.Errorf("snapshot to %s: %w", addr, err)
	}
	var ok wire.SnapshotOK
	f, err := c.Next(time.Now().Add(10 * time.Minute)) // the peer restores before it answers
	if err == nil {
		err = readAnswer(f, wire.OpSnapshotOK, &ok)
	}
	if err != nil {
		return fmt.Errorf("snapshot to %s: %w", addr, err)
	}
	resp.Term, resp.Success = ok.Term, ok.Success
	return nil
}

func sendSnapshot(c *Conn, node uint32, advertise string, a *hraft.InstallSnapshotRequest, data io.Reader) error {
	begin := &wire.SnapshotBegin{Term: a.Term, Leader: node, LeaderAddr: advertise, LastIndex: a.LastLogIndex, LastTerm: a.LastLogTerm,
		Configuration: a.Configuration, ConfigurationIndex: a.ConfigurationIndex, Size: uint64(a.Size)}
	if err := c.Send(time.Now().Add(RPCTimeout), wire.OpSnapshotBegin, begin); err != nil {
		return err
	}
	h := sha256.New()
	buf := make([]byte, chunkSize)
	for at := uint64(0); ; {
		n, err := io.ReadFull(data, buf)
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return err
		}
		h.Write(buf[:n])
		chunk := &wire.SnapshotChunk{Offset: at, Data: buf[:n]}
		at += uint64(n)
		if last {
			chunk.Sum = h.Sum(nil)
		}
		if err := c.Send(time.Now().Add(time.Minute), wire.OpSnapshotChunk, chunk); err != nil || last {
			return err
		}
	}
}

// ReceiveSnapshot writes the chunks of a snapshot to w and returns their total size. It reads all chunks even if w
// rejects them.
func (c *Inbound) ReceiveSnapshot(w io.Writer, unpack func(wire.Frame, wire.Message) error) (size uint64, err error) {
	h := sha256.New()
	var werr error
	for {
		if err := c.nc.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			return size, err
		}
		f, err := c.r.Next()
		if err != nil {
			return size, err
		}
		var m wire.SnapshotChunk
		if f.Op != wire.OpSnapshotChunk {
			return size, fmt.Errorf("%s inside a snapshot", f.Op)
		}
		if err := unpack(f, &m); err != nil {
			return size, err
		}
		if m.Offset != size {
			return size, fmt.Errorf("snapshot chunk at %d, want %d", m.Offset, size)
		}
		size += uint64(len(m.Data))
		h.Write(m.Data)
		if werr == nil {
			_, werr = w.Write(m.Data)
		}
		if len(m.Sum) > 0 {
			if string(m.Sum) != string(h.Sum(nil)) {
				return size, errors.New("snapshot checksum differs")
			}
			return size, c.nc.SetReadDeadline(time.Time{})
		}
	}
}
