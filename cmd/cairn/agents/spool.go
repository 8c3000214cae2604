package agents

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/oplog/private"
)

// A spool is a directory of captures that wait for the node, one file each, named by time. Concurrent hooks share it
// without locks: files appear atomically, and the node stores a capture that two hooks send only once.
type spool string

// The bounds of a spool. A full spool drops its oldest captures.
const (
	maxSpooled = 2000
	maxCapture = 256 << 10 // bytes; a longer capture is dropped
)

// A capture is a tool's use or message that a hook received, with secrets redacted.
type capture struct {
	Session  string `json:"session"`
	Tool     string `json:"tool"`
	Source   string `json:"source"`
	Dir      string `json:"cwd"`
	Subspace string `json:"subspace,omitempty"` // SIFTCODER_SUBSPACE of the capturing hook; the sending hook may have another
	At       int64  `json:"ts"`                 // Unix milliseconds
	Payload  any    `json:"payload"`
}

// add stores a capture in the spool.
func (s spool) add(c capture) error {
	b, err := json.Marshal(c)
	if err != nil || len(b) > maxCapture {
		return err
	}
	if err := private.MakeDir(string(s)); err != nil {
		return err
	}
	waiting, err := s.files()
	if err != nil {
		return err
	}
	for len(waiting) >= maxSpooled {
		if err := s.remove(waiting[0]); err != nil {
			return err
		}
		waiting = waiting[1:]
	}
	return s.write(fmt.Sprintf("%019d-%d.json", time.Now().UnixNano(), os.Getpid()), b)
}

// write creates a file atomically. It does not fsync, because a hook has little time.
func (s spool) write(name string, b []byte) error {
	f, err := os.CreateTemp(string(s), ".new-") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(string(s), name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// files returns the paths of the captures, oldest first.
func (s spool) files() ([]string, error) {
	return filepath.Glob(filepath.Join(string(s), "[0-9]*.json"))
}

func (s spool) count() int {
	all, err := s.files()
	if err != nil {
		return 0
	}
	return len(all)
}

func (s spool) remove(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// errKeep tells drain to keep a capture and continue with the next one.
var errKeep = errors.New("it waits on")

// drain calls send for each capture, oldest first, and removes the sent ones. On errKeep it keeps the capture; on
// another error it stops. It also removes files that hold no capture.
func (s spool) drain(send func(capture) error) error {
	all, err := s.files()
	if err != nil {
		return err
	}
	for _, name := range all {
		b, err := private.Read(name)
		if errors.Is(err, fs.ErrNotExist) { // another hook sent it
			continue
		}
		if err != nil {
			return err
		}
		var c capture
		if json.Unmarshal(b, &c) == nil {
			if err := send(c); errors.Is(err, errKeep) {
				continue
			} else if err != nil {
				return err
			}
		}
		if err := s.remove(name); err != nil {
			return err
		}
	}
	return nil
}
