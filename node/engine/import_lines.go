package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// externalFolder is the folder of other systems' memories; their keys are the ids in those systems.
const externalFolder = "/.external/"

// maxReasons bounds the rejected lines that an answer lists.
const maxReasons = 100

// A lineError is the reason why one line of an import is rejected.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return e.err.Error() }
func (e *lineError) Unwrap() error { return e.err }

// reject adds a line to the rejected ones, or ends the import with its error.
func (im *importer) reject(line int, err error) error {
	if !im.skip || !isLineError(err) {
		return &lineError{line, err}
	}
	if im.done.Refused++; len(im.done.Reasons) < maxReasons {
		im.done.Reasons = append(im.done.Reasons, api.Rejected{Line: line, Reason: err.Error()})
	}
	return nil
}

// isLineError reports whether an error is about the content of a line, so that the import may continue after it.
func isLineError(err error) bool {
	return oplog.IsKind(err, oplog.Invalid, oplog.Conflict, oplog.TooLarge) && !errors.Is(err, oplog.ErrKeyReused)
}

// storeBisecting stores a list as one entry. If the entry is rejected for its content or its size, it stores each
// half, recursively down to a single line. Only that line is rejected; the others are stored.
func storeBisecting[T any](list []T, store func([]T) error, ofOne func(error) bool, alone func(T, error) error) error {
	if len(list) == 0 {
		return nil
	}
	err := store(list)
	switch {
	case err == nil || !ofOne(err):
		return err
	case len(list) == 1:
		return alone(list[0], err)
	}
	half := len(list) / 2
	if err := storeBisecting(list[:half], store, ofOne, alone); err != nil {
		return err
	}
	return storeBisecting(list[half:], store, ofOne, alone)
}

// identify completes the fields that identify a line, and checks the memory. Of two lines with one identity, the
// later one changes the memory of the earlier one. A line without a key gets its own idempotency key, so that a
// repeated import stores it once, unless the import has a key or keeps ids.
func (im *importer) identify(d *api.Draft, external string) error {
	if external != "" && d.Path == "" {
		d.Path = externalKey(external)
	}
	now, err := im.s.state.Current(im.c.DB)
	if err != nil {
		return err
	}
	if d.Path == "" && im.key == "" && !im.keep {
		if d.Key, err = lineKey(*d, &redactor{policy: now.Redact}); err != nil {
			return err
		}
	}
	_, err = makeRemember(d, im.s.now(), int(now.Database.Dim))
	return err
}

// lineKey returns the idempotency key of a line, made from the redacted content: removed secrets do not affect it.
func lineKey(d api.Draft, secrets *redactor) (string, error) {
	rid := d.RID
	d.History, d.Key = nil, ""
	secrets.draft(&d, false)
	b, err := json.Marshal(d)
	sum := sha256.Sum256(append(b, rid...))
	return "import/" + hex.EncodeToString(sum[:16]), err
}

// externalKey returns the key of a memory that has an id in another system.
func externalKey(id string) string {
	if key := externalFolder + id; !strings.Contains(id, "/") && checkKey(key) == nil {
		return key
	}
	sum := sha256.Sum256([]byte(id))
	return externalFolder + hex.EncodeToString(sum[:])
}

// skipPresent leaves out the lines whose memory already exists with this id and this content. If the memory was
// forgotten since it was imported, the line is stored again, under the next key.
func (im *importer) skipPresent(lines []draftLine) (list []draftLine, err error) {
	if im.key != "" || im.keep {
		return lines, nil
	}
	return list, im.s.state.Inspect(func(v *state.View) {
		for _, d := range lines {
			if d.Path == "" {
				if m, ok := v.Memory(im.c.DB, d.RID); ok && upToDate(m, &d.Draft) {
					im.done.Kept++
					continue
				}
				for {
					rid, known := v.StoredUnder(im.c.DB, d.Key)
					if m, ok := v.Memory(im.c.DB, rid); !known || ok && m.Status != oplog.Tombstoned || len(d.Key) > 64 {
						break
					}
					d.Key += "+"
				}
			}
			list = append(list, d)
		}
	})
}

// skipPresentEdges does the same for relations: it leaves out those that exist with the same weight.
func (im *importer) skipPresentEdges(lines []edgeLine) (list []edgeLine, err error) {
	if im.key != "" || im.keep {
		return lines, nil
	}
	return list, im.s.state.Inspect(func(v *state.View) {
		for _, e := range lines {
			if was, ok := v.Related(im.c.DB, e.Src, e.Type, e.Dst); ok && was.Weight == e.Weight {
				im.done.Kept++
			} else {
				list = append(list, e)
			}
		}
	})
}

// upToDate reports whether a memory with the id of a line already has the line's content.
func upToDate(m *oplog.Memory, d *api.Draft) bool {
	return m.Status != oplog.Tombstoned && m.Text == d.Text && m.Namespace == cmp.Or(d.Namespace, "default") &&
		(d.History == nil || m.Revision >= d.History.Revision)
}
