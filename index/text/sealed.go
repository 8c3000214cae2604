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

// installHooks sets Bleve's variables before the first store of the process is opened: how files are written and read,
// which plugin makes segments, and which functions get events. They apply to the whole process, in which indexes may
// have different keys or none: the hooks look up the index of the file's directory. They encrypt the terms, postings,
// stored fields and field names of a segment, and the values of the root file, each piece by itself. The number and the
// lengths of the pieces stay readable. The segment's checksum covers all of them.
func installHooks() {
	hooked.Do(func() {
		bleve.WriterHook, bleve.ReaderHook = writerHook, readerHook
		scorch.RegisterSegmentPlugin(&plugin{}, true)
		scorch.RegistryEventCallbacks[hookName], scorch.RegistryAsyncErrorCallbacks[hookName] = onEvent, onAsyncError
	})
}

// sealedPlace is the associated data of every piece that Bleve writes: Bleve does not tell the piece's place.
var sealedPlace = []byte("text index")

func writerHook(path []byte) (id string, process func([]byte) []byte, err error) {
	dir, name := filepath.Split(string(path))
	x := openedAt(dir)
	if x != nil && name == rootFile {
		err = x.checkRootInUse()
	}
	if x == nil || x.cfg.Keys == nil || err != nil {
		return "", nil, err
	}
	keys := x.cfg.Keys
	return keys.Active().String(), func(plain []byte) []byte {
		return keys.Seal(make([]byte, 0, len(plain)+seal.Overhead), plain, sealedPlace)
	}, nil
}

// readerHook returns the function that decrypts a file, by the key id in the file: a file without one is not encrypted.
func readerHook(id string, path []byte) (process func([]byte) ([]byte, error), err error) {
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
	return func(b []byte) ([]byte, error) { return x.cfg.Keys.Open(nil, b, sealedPlace) }, nil
}
