package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// Journal is a file of JSON values, one a line.
type Journal[T any] struct{ *File }

// Replay opens a journal and calls apply with each of its values, oldest first.
func Replay[T any](path, place string, keys *seal.Ring, apply func(T) error) (*Journal[T], error) {
	f, err := Open(path, place, keys)
	if err != nil {
		return nil, err
	}
	j := &Journal[T]{f}
	if err := j.replay(apply); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

func (j *Journal[T]) replay(apply func(T) error) error {
	completeBytes, n := int64(0), 0
	for line, err := range j.Lines() {
		n++
		plain, complete := bytes.CutSuffix(line, []byte("\n"))
		if err == nil && !complete {
			return j.Cut(completeBytes)
		}
		if err == nil {
			plain, err = j.keys.OpenLine(plain, j.place)
		}
		var v T
		if err == nil {
			err = json.Unmarshal(plain, &v)
		}
		if err == nil {
			err = apply(v)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", j.path, n, err)
		}
		completeBytes += int64(len(line))
	}
	return nil
}

// Commit appends values. They are on disk when it returns. After an error none of them is in the file.
func (j *Journal[T]) Commit(values ...T) error {
	var lines [][]byte
	for _, v := range values {
		line, err := kit.JSON(v)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	size := j.size
	if err := j.Append(lines...); err != nil {
		return err
	}
	if err := j.Sync(); err != nil {
		return errors.Join(err, j.Cut(size))
	}
	return nil
}

// Replace rewrites the file with the given values. After an error the old file stays in use, unless a crash could
// leave either of the two: then every later write fails.
func (j *Journal[T]) Replace(values ...T) error {
	next, err := Create(j.path+".new", j.place, j.keys)
	if err != nil {
		return err
	}
	for _, v := range values {
		var line []byte
		if line, err = kit.JSON(v); err == nil {
			err = next.Append(line)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, next.Flush(), next.Sync()); err == nil {
		err = next.Rename(j.path)
	}
	if err != nil {
		return errors.Join(err, next.Discard())
	}
	j.File.Close() // the renamed file has replaced it
	j.File = next
	j.broken = syncwriter.Dir(filepath.Dir(j.path))
	return j.broken
}
