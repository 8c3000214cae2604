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

// A spool is a directory of captures that wait for the node, a file each, named in the order that they came. Hooks run
// at the same time and share it without locks: a file is written whole under its name, and one that two hooks send is
// one event for the node.
type spool string

// The bounds of a spool. When it is full, the oldest capture goes.
const (
	maxSpooled = 2000
	maxCapture = 256 << 10 // bytes; a longer one does not wait
)

// A capture holds the output of a tool that a hook received, without secrets.
type capture struct {
	Session  string `json:"session"`
	Tool     string `json:"tool"`
	Source   string `json:"source"`
	Dir      string `json:"cwd"`
	Subspace string `json:"subspace,omitempty"` // SIFTCODER_SUBSPACE of its hook, as the one that sends it may have another
	At       int64  `json:"ts"`                 // Unix milliseconds
	Payload  any    `json:"payload"`
}

// add keeps a capture.
func (s spool) add(c capture) error {
	b, err := json.Marshal(c)
	if err != nil || len(b) > maxCapture {
		return err
	}
	if err := private.MakeDir(string(s)); err != nil {
		return err
	}
	waiting, err := s.names()
	if err != nil {
		return err
	}
	for len(waiting) >= maxSpooled {
		if err := s.drop(waiting[0]); err != nil {
			return err
		}
		waiting = waiting[1:]
	}
	return s.write(fmt.Sprintf("%019d-%d.json", time.Now().UnixNano(), os.Getpid()), b)
}

// write makes a file that others see whole. It does not wait for the disk: a hook has no time for that.
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

// names lists what waits, the oldest first.
func (s spool) names() ([]string, error) {
	return filepath.Glob(filepath.Join(string(s), "[0-9]*.json"))
}

func (s spool) count() int {
	all, err := s.names()
	if err != nil {
		return 0
	}
	return len(all)
}

func (s spool) drop(name string) error {
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// errLater is the error of a capture that cannot be stored now, while others may be.
var errLater = errors.New("it waits on")

// drain sends what waits until there is nothing left, or send returns an error. A file that holds no capture goes, and
// one that is for later stays.
func (s spool) drain(send func(capture) error) error {
	all, err := s.names()
	if err != nil {
		return err
	}
	for _, name := range all {
		b, err := private.Read(name)
		if errors.Is(err, fs.ErrNotExist) { // another hook has sent it
			continue
		}
		if err != nil {
			return err
		}
		var c capture
		if json.Unmarshal(b, &c) == nil {
			if err := send(c); errors.Is(err, errLater) {
				continue
			} else if err != nil {
				return err
			}
		}
		if err := s.drop(name); err != nil {
			return err
		}
	}
	return nil
}
