package mailbox

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cairndb/cairn/local/kit"
)

type event struct {
	At     uint64  `json:"at"`
	Op     string  `json:"op"`
	Task   *Task   `json:"task,omitempty"`
	ID     string  `json:"id,omitempty"`
	Lease  *Lease  `json:"lease,omitempty"`
	Result *Result `json:"result,omitempty"`
	Hash   []byte  `json:"hash,omitempty"` // of a finished task's body
	Tries  uint32  `json:"tries,omitempty"`
}

// whole says whether an event has what its kind needs.
func (e event) whole() bool {
	switch e.Op {
	case "queued", "finished":
		return e.Task != nil
	case "leased":
		return e.Lease != nil
	case "posted", "waiting", "cached":
		return e.Result != nil
	}
	return true
}

func (b *Box) replay() error {
	r := bufio.NewReader(b.file)
	for n := 0; ; n++ {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				return b.file.Truncate(b.size)
			}
			return nil
		}
		if err != nil {
			return err
		}
		plain, err := b.keys.OpenLine(bytes.TrimSuffix(line, []byte("\n")), LinePlace)
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		var e event
		if err := json.Unmarshal(plain, &e); err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
		if !e.whole() {
			return fmt.Errorf("line %d: %q lacks what it is about", n+1, e.Op)
		}
		b.apply(e)
		b.size += int64(len(line))
	}
}

// LinePlace is what the lines of a mailbox are sealed as.
const LinePlace = "covenant mailbox"

// encode writes the line of an event.
func (b *Box) encode(w io.Writer, e event) error {
	line, err := kit.JSON(e)
	if err == nil {
		_, err = w.Write(append(b.keys.Line(line, LinePlace), '\n'))
	}
	return err
}

// commit writes events and then makes them so.
func (b *Box) commit(events ...event) error {
	if b.broken != nil {
		return b.broken
	}
	var buf bytes.Buffer
	for _, e := range events {
		if err := b.encode(&buf, e); err != nil {
			return fmt.Errorf("mailbox: %w", err)
		}
	}
	_, err := b.file.Write(buf.Bytes())
	if err == nil {
		err = b.file.Sync()
	}
	if err != nil {
		err = fmt.Errorf("mailbox: %w", err)
		if b.file.Truncate(b.size) != nil {
			b.broken = err
		}
		return err
	}
	b.size += int64(buf.Len())
	for _, e := range events {
		b.apply(e)
	}
	if b.size >= b.due {
		b.compact()
	}
	return nil
}

func (b *Box) apply(e event) {
	switch e.Op {
	case "queued":
		b.places++
		k := &known{task: *e.Task, hash: sha256.Sum256(e.Task.Body), tries: e.Tries, place: b.places}
		b.tasks[e.Task.ID] = k
		b.queue[e.Task.Recipient] = append(b.queue[e.Task.Recipient], k)
		b.order = append(b.order, k)
	case "leased":
		k := b.tasks[e.ID]
		if k == nil {
			return
		}
		k.lease, k.tries = e.Lease, e.Lease.Attempt
		b.queue[k.task.Recipient] = without(b.queue[k.task.Recipient], k)
	case "posted":
		k := b.tasks[e.Result.Task]
		if k == nil {
			return
		}
		b.ready[k.task.Sender] = append(b.ready[k.task.Sender], *e.Result)
		if e.Result.Final {
			k.final, k.lease = true, nil
			b.queue[k.task.Recipient] = without(b.queue[k.task.Recipient], k)
			b.order = without(b.order, k)
			if k.task.Cache != "" {
				b.cacheResult(cacheKey(k.task), *e.Result)
			}
			k.task.Body = nil // its hash is enough from now on
			b.finish(e.Result.Task)
		}
	case "requeued":
		if k := b.tasks[e.ID]; k != nil && k.lease != nil {
			k.lease = nil
			q := b.queue[k.task.Recipient]
			at, _ := slices.BinarySearchFunc(q, k.place, byPlace)
			b.queue[k.task.Recipient] = slices.Insert(q, at, k)
		}
	case "finished":
		k := &known{task: *e.Task, final: true}
		copy(k.hash[:], e.Hash)
		b.tasks[e.Task.ID] = k
		b.finish(e.Task.ID)
	case "waiting":
		b.ready[e.ID] = append(b.ready[e.ID], *e.Result)
	case "cached":
		b.cacheResult(e.ID, *e.Result)
	case "taken":
		if r := b.ready[e.ID]; len(r) > 0 {
			b.ready[e.ID] = r[1:]
		}
	}
}

// without takes a task out of those that are in the order of their places.
func without(list []*known, k *known) []*known {
	if i, found := slices.BinarySearchFunc(list, k.place, byPlace); found {
		return slices.Delete(list, i, i+1)
	}
	return list
}
