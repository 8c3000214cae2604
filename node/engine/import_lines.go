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

// externalFolder has the memories of other systems, by the ids that these have for them.
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

// reject lists a line that is rejected, or ends the import there.
func (im *importer) reject(line int, err error) error {
	if !im.skip || !isLineError(err) {
		return &lineError{line, err}
	}
	if im.done.Refused++; len(im.done.Reasons) < maxReasons {
		im.done.Reasons = append(im.done.Reasons, api.Rejected{Line: line, Reason: err.Error()})
	}
	return nil
}

// isLineError reports whether an error is about what a line says, so that the import may go on behind it.
func isLineError(err error) bool {
	return oplog.IsKind(err, oplog.Invalid, oplog.Conflict, oplog.TooLarge) && !errors.Is(err, oplog.ErrKeyReused)
}

// storeBisecting stores a list as one entry. When that is rejected for what is in the list, or because that is too
// large together, it stores the halves, down to the one that cannot be stored: the others are, and alone decides
// about it.
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

// identify completes what identifies a line, and checks the memory: of two lines with one identity, the later one
// changes the memory of the earlier. A line without a key has an idempotency key of its own, so that it is stored
// once when an import is repeated, unless the import has a key or keeps ids.
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

// lineKey makes the idempotency key of a line from what is stored of it: a secret that is redacted has no part in it.
func lineKey(d api.Draft, secrets *redactor) (string, error) {
	rid := d.RID
	d.History, d.Key = nil, ""
	secrets.draft(&d, false)
	b, err := json.Marshal(d)
	sum := sha256.Sum256(append(b, rid...))
	return "import/" + hex.EncodeToString(sum[:16]), err
}

// externalKey is the key of a memory that another system knows by an id.
func externalKey(id string) string {
	if key := externalFolder + id; !strings.Contains(id, "/") && checkKey(key) == nil {
		return key
	}
	sum := sha256.Sum256([]byte(id))
	return externalFolder + hex.EncodeToString(sum[:])
}

// skipPresent leaves out the lines whose memory is here by its id and says the same. A line whose memory was
// forgotten since it was imported is stored again, under the next key.
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

// skipPresentEdges does the same for relations: one with the weight that it has here changes nothing.
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

// upToDate reports whether a line with the id of a memory would make that memory, unchanged.
func upToDate(m *oplog.Memory, d *api.Draft) bool {
	return m.Status != oplog.Tombstoned && m.Text == d.Text && m.Namespace == cmp.Or(d.Namespace, "default") &&
		(d.History == nil || m.Revision >= d.History.Revision)
}
