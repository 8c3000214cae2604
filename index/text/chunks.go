package text

import (
	"encoding/binary"
	"errors"
	"reflect"

	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// freqOffset is the field of Bleve's postings that says where their frequencies are. It has no other name.
var freqOffset = func() []int {
	f, ok := reflect.TypeFor[zap.PostingsList]().FieldByName("freqOffset")
	if !ok {
		panic("zapx has no freqOffset")
	}
	return f.Index
}()

// notEncoded is Bleve's offset of frequencies that are not there.
const notEncoded = 0

// checkChunks checks the number of chunks of frequencies that postings in a file declare; each chunk has at least a
// byte. Bleve allocates as many as declared, so a bit that changed since the file was opened could make it run out of
// memory.
func checkChunks(list segment.PostingsList, seg segment.Segment) error {
	file, onDisk := seg.(*zap.Segment)
	p, ok := list.(*zap.PostingsList)
	if !onDisk || !ok {
		return nil
	}
	at, data := reflect.ValueOf(p).Elem().FieldByIndex(freqOffset).Uint(), file.Data()
	if at == notEncoded {
		return nil
	}
	if at >= uint64(len(data)) {
		return corrupt(errors.New("frequencies behind the end of the file"))
	}
	if n, read := binary.Uvarint(data[at:]); read <= 0 || n > uint64(len(data)) {
		return corrupt(errors.New("more chunks than the file has bytes"))
	}
	return nil
}
