package text

import (
	"path/filepath"
	"strconv"
	"sync"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/cairndb/cairn/oplog/seal"
)

// Bleve asks two variables of its own, for the whole process, how to write and read files. So that indexes under several
// keys, and under none, live in one process, what stands there looks the file's directory up here. The terms, postings, stored
// fields and field names of a segment go through it, and the values of the root file; how many of them there are, and
// how long, does not. Each piece is sealed alone; the segment's checksum covers them all.
func ringOf(path []byte) (keys *seal.Ring, ok bool) {
	if x := openedAt(filepath.Dir(string(path))); x != nil {
		keys = x.cfg.Keys
	}
	return keys, keys != nil
}

var hooked sync.Once

// hook sets Bleve's variables before the first store of the process is opened: the functions, and what makes segments.
func hook() {
	hooked.Do(func() {
		bleve.WriterHook, bleve.ReaderHook = writing, reading
		scorch.RegisterSegmentPlugin(&plugin{}, true)
		scorch.RegistryEventCallbacks[hookName], scorch.RegistryAsyncErrorCallbacks[hookName] = event, asyncError
	})
}

// piece is where what Bleve seals lies, as far as is known of it.
var piece = []byte("text index")

func writing(path []byte) (id string, process func([]byte) []byte, err error) {
	if dir, name := filepath.Split(string(path)); name == rootFile {
		if x := openedAt(dir); x != nil {
			if err := x.rootWanted(); err != nil {
				return "", nil, err
			}
		}
	}
	keys, ok := ringOf(path)
	if !ok {
		return "", nil, nil
	}
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
	keys, ok := ringOf(path)
	if !ok {
		return nil, corrupt(seal.ErrSealed)
	}
	return func(b []byte) ([]byte, error) { return keys.Open(nil, b, piece) }, nil
}
