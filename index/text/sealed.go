package text

import (
	"path/filepath"
	"strconv"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/cairndb/cairn/oplog/seal"
)

var hooked sync.Once

// hook sets Bleve's variables before the first store of the process is opened: how files are written and read, what
// makes segments, and what is told of events. They are of the whole process. So that indexes under several keys, and
// under none, live in one, what stands there looks the index of the file's directory up. The terms, postings, stored
// fields and field names of a segment go through it, and the values of the root file; how many of them there are, and
// how long, does not. Each piece is sealed alone; the segment's checksum covers them all.
func hook() {
	hooked.Do(func() {
		bleve.WriterHook, bleve.ReaderHook = writing, reading
		scorch.RegisterSegmentPlugin(&plugin{}, true)
		scorch.RegistryEventCallbacks[hookName], scorch.RegistryAsyncErrorCallbacks[hookName] = event, asyncError
	})
}

// piece is the place to which every piece that Bleve writes is sealed: nothing more exact is known of where it lies.
var piece = []byte("text index")

func writing(path []byte) (id string, process func([]byte) []byte, err error) {
	dir, name := filepath.Split(string(path))
	x := openedAt(dir)
	if x != nil && name == rootFile {
		err = x.rootWanted()
	}
	if x == nil || x.cfg.Keys == nil || err != nil {
		return "", nil, err
	}
	keys := x.cfg.Keys
	return keys.Active().String(), func(plain []byte) []byte {
		return keys.Seal(make([]byte, 0, len(plain)+seal.Overhead), plain, piece)
	}, nil
}

// reading finds what opens a file, by the id that stands in it: a file without one is not sealed.
func reading(id string, path []byte) (process func([]byte) ([]byte, error), err error) {
	if id == "" {
		return nil, nil
	}
	if _, err := strconv.ParseUint(id, 16, 32); err != nil {
		return nil, corrupt(err)
	}
	x := openedAt(filepath.Dir(string(path)))
	if x == nil || x.cfg.Keys == nil {
		return nil, corrupt(seal.ErrSealed)
	}
	return func(b []byte) ([]byte, error) { return x.cfg.Keys.Open(nil, b, piece) }, nil
}
