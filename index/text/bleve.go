package text

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// The fields of a Bleve document. Nothing is stored but the id.
const (
	fieldID   = "_id"   // row number, 8 hex digits
	fieldText = "t"     // the terms; norm = length
	fieldRow  = "g"     // one term, the group in 8 hex digits; frequency = row + rowBias, norm = length + 1
	rowBias   = 2       // keeps the frequency off 1, which has an encoding that cannot hold every norm
	fieldTag  = "r"     // one term, the tag's revision in 8 hex digits; frequency = the tag's number + 2, norm = 1
	keyState  = "cairn" // internal value: storedState
)

// A bleveDoc is a row of a block as Bleve's Batch wants to see it: an id. The plugin takes the rest from the part.
type bleveDoc struct {
	id   string
	row  *tailRow
	part *part // all of the batch
}

func (d *bleveDoc) ID() string                                 { return d.id }
func (d *bleveDoc) Size() int                                  { return rowBytes + postingBytes*len(d.row.terms) }
func (d *bleveDoc) VisitFields(bleve.FieldVisitor)             {}
func (d *bleveDoc) VisitComposite(bleve.CompositeFieldVisitor) {}
func (d *bleveDoc) HasComposite() bool                         { return false }
func (d *bleveDoc) NumPlainTextBytes() uint64                  { return 0 }
func (d *bleveDoc) AddIDField()                                {}
func (d *bleveDoc) StoredFieldsBytes() uint64                  { return 0 }
func (d *bleveDoc) Indexed() bool                              { return true }

func hex8(n uint32) string {
	const zeros = "00000000"
	s := strconv.FormatUint(uint64(n), 16)
	return zeros[len(s):] + s
}

// A segmentInfo holds the tables of one immutable Bleve segment.
type segmentInfo struct {
	id   uint64
	rows []uint32 // by local document number
	// entries are the decoded postings in the cache; guarded by Cache.mu.
	entries map[int64]map[string]*entry
	dropped bool
}

// A snapshot is a Bleve reader with its segments' tables. It is shared by
// counting references on the reader.
type snapshot struct {
	reader   *scorch.IndexSnapshot // nil in an index that is all tail
	segments []*segmentInfo        // parallel to reader.Segments()
}

// open returns the segments that the reader has open.
func (s *snapshot) open() []*scorch.SegmentSnapshot {
	if s.reader == nil {
		return nil
	}
	return s.reader.Segments()
}

// acquire keeps the reader open until release.
func (s *snapshot) acquire() {
	if s.reader != nil {
		s.reader.AddRef()
	}
}

func (s *snapshot) release() {
	if s != nil && s.reader != nil {
		s.reader.Close()
	}
}

// normalised is implemented by postings that know the integer behind their norm.
type normalised interface{ NormUint64() uint64 }

// eachPosting visits the postings of every term of a field whose terms are numbers in hex, in document order for
// each.
func eachPosting(s segment.Segment, field string, visit func(term uint32, doc, freq, norm uint64)) (err error) {
	defer recoverCorrupt(&err)
	dict, err := s.Dictionary(field)
	if err != nil {
		return corrupt(err)
	}
	for it := dict.AutomatonIterator(nil, nil, nil); ; {
		e, err := it.Next()
		if err != nil {
			return corrupt(err)
		}
		if e == nil {
			return nil
		}
		term, err := strconv.ParseUint(e.Term, 16, 32)
		if err != nil {
			return corrupt(err)
		}
		list, err := dict.PostingsList([]byte(e.Term), nil, nil)
		if err != nil {
			return corrupt(err)
		}
		postings := list.Iterator(true, true, false, nil)
		for p, err := postings.Next(); p != nil || err != nil; p, err = postings.Next() {
			if err != nil {
				return corrupt(err)
			}
			n, ok := p.(normalised)
			if !ok {
				return corrupt(errors.New("segment format without integer norms"))
			}
			visit(uint32(term), p.Number(), p.Frequency(), n.NormUint64())
		}
	}
}

// loadRows reads a segment's row numbers, groups and lengths from its row field.
func loadRows(s segment.Segment, visit func(doc, row, group uint32, length uint16)) ([]uint32, error) {
	rows := make([]uint32, s.Count())
	seen := 0
	err := eachPosting(s, fieldRow, func(group uint32, doc, freq, norm uint64) {
		row := uint32(freq - rowBias)
		rows[doc] = row
		seen++
		visit(uint32(doc), row, group, uint16(norm-1))
	})
	if err == nil && seen != len(rows) {
		err = corrupt(fmt.Errorf("segment names %d of %d rows", seen, len(rows)))
	}
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// loadTags reads a segment's tags.
func loadTags(s segment.Segment, visit func(doc uint32, tag Tag)) error {
	return eachPosting(s, fieldTag, func(revision uint32, doc, freq, _ uint64) {
		visit(uint32(doc), Tag{Number: freq - rowBias, Revision: revision})
	})
}

// dict returns the dictionary of a segment's terms. A search opens each once.
func (s *search) dict(n int) (segment.TermDictionary, error) {
	if s.dicts[n] == nil {
		dict, err := s.snap.open()[n].Segment().Dictionary(fieldText)
		if err != nil {
			return nil, corrupt(err)
		}
		s.dicts[n] = dict
	}
	return s.dicts[n], nil
}
