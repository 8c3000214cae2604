package text

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	bleve "github.com/blevesearch/bleve_index_api"
	zap "github.com/blevesearch/zapx/v17"
	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/suite"
)

// plainDoc is a row in the form of Bleve's own documents: every field has a table of its terms.
type plainDoc struct {
	bleveDoc
	fields []bleve.Field
}

func (d *plainDoc) VisitFields(visit bleve.FieldVisitor) {
	for _, f := range d.fields {
		visit(f)
	}
}

type plainField struct {
	name    string
	value   string
	options bleve.FieldIndexingOptions
	length  int
	freqs   bleve.TokenFrequencies
}

func (f *plainField) Name() string                                     { return f.name }
func (f *plainField) Value() []byte                                    { return []byte(f.value) }
func (f *plainField) ArrayPositions() []uint64                         { return nil }
func (f *plainField) EncodedFieldType() byte                           { return 't' }
func (f *plainField) Analyze()                                         {}
func (f *plainField) Options() bleve.FieldIndexingOptions              { return f.options }
func (f *plainField) AnalyzedLength() int                              { return f.length }
func (f *plainField) AnalyzedTokenFrequencies() bleve.TokenFrequencies { return f.freqs }
func (f *plainField) NumPlainTextBytes() uint64                        { return 0 }

func (f *plainField) has(term string, n int) *plainField {
	if f.freqs == nil {
		f.freqs = bleve.TokenFrequencies{}
	}
	f.freqs[term] = &bleve.TokenFreq{}
	f.freqs[term].SetFrequency(n)
	return f
}

func plain(p *part, r *tailRow) bleve.Document {
	id := hex8(r.row)
	words := &plainField{name: fieldText, options: bleve.IndexField, length: int(r.length)}
	for _, t := range r.terms {
		words.has(p.block.terms[t.term].term, int(t.tf))
	}
	return &plainDoc{bleveDoc{id: id}, []bleve.Field{
		(&plainField{name: fieldID, value: id, options: bleve.IndexField | bleve.StoreField, length: 1}).has(id, 1),
		(&plainField{name: fieldRow, options: bleve.IndexField, length: int(r.length) + 1}).has(hex8(r.group), int(r.row)+rowBias),
		(&plainField{name: fieldTag, options: bleve.IndexField, length: 1}).has(hex8(r.tag.Revision), int(r.tag.Number)+rowBias),
		words,
	}}
}

// TestSegmentsAreBleves checks that this package and Bleve make the same segments of random blocks, byte by byte, up
// to the list of fields. There Bleve names kinds of index that no field has.
func TestSegmentsAreBleves(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := newBlock()
		p := &part{block: b, yield: func() {}}
		vocabulary := rapid.IntRange(1, 3000).Draw(t, "vocabulary")
		for n := range rapid.IntRange(1, 2500).Draw(t, "rows") {
			d := Document{row: uint32(3 * n), group: uint32(n % 3), tag: Tag{Number: uint64(n), Revision: uint32(n % 2)},
				length: uint16(n % 70)}
			for i := range n * 7 % 40 {
				d.terms = append(d.terms, termFreq{fmt.Sprint("w", (n*n+i)%vocabulary), uint16(1 + i%9*200)})
			}
			slices.SortFunc(d.terms, func(a, b termFreq) int { return bytes.Compare([]byte(a.term), []byte(b.term)) })
			d.terms = slices.CompactFunc(d.terms, func(a, b termFreq) bool { return a.term == b.term })
			b.add(d)
		}
		for i := range b.rows {
			if i == 0 || i%5 != 0 { // the others are dead
				p.rows = append(p.rows, &b.rows[i])
			}
		}
		var ours, theirs []bleve.Document
		for _, r := range p.rows {
			ours = append(ours, &bleveDoc{hex8(r.row), r, p})
			theirs = append(theirs, plain(p, r))
		}
		got, want := segmentBytes(t, ours), segmentBytes(t, theirs)
		if !bytes.Equal(got, want) {
			same := 0
			for same < min(len(got), len(want)) && got[same] == want[same] {
				same++
			}
			t.Fatalf("%d bytes, and Bleve's %d; they differ from %d on", len(got), len(want), same)
		}
	})
}

// segmentBytes returns the bytes of a segment in front of its list of fields.
func segmentBytes(t *rapid.T, docs []bleve.Document) []byte {
	s, _, err := new(plugin).NewUsing(docs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := s.(*zap.SegmentBase).WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()
	// in the footer, after the length of the keys' name, the documents and the place of the ids
	fields := binary.BigEndian.Uint64(b[len(b)-zap.FooterSize+4+8+8:])
	first := binary.BigEndian.Uint64(b[fields+1:])
	return b[:first]
}
