package text

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"path/filepath"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/blevesearch/vellum"
	zap "github.com/blevesearch/zapx/v17"
)

// A plugin makes segments for Bleve: those of blocks by itself, others as Bleve does. A block has its terms counted
// and numbered already. Bleve would read a table of terms from each row, twice, and look each term up in its own
// tables: that is four fifths of the cost of a segment. The plugin's segments have the bytes of Bleve's
// (TestSegmentsAreBleves).
type plugin struct{ zap.ZapPlugin }

// NewUsing implements Bleve's SegmentPlugin.
func (p *plugin) NewUsing(docs []bleve.Document, config map[string]any) (segment.Segment, uint64, error) {
	d, isBlock := docs[0].(*bleveDoc)
	if !isBlock {
		return p.ZapPlugin.NewUsing(docs, config)
	}
	stats, ok := config[segment.StatsKey].(*segment.Stats)
	if !ok {
		stats = new(segment.Stats)
	}
	w := segmentWriter{docs: uint64(len(docs)), yield: d.part.yield}
	stored := w.stored(d.part)
	fields, err := w.fields(d.part)
	if err != nil {
		return nil, 0, err
	}
	mem := bytes.Clone(w.b) // w.b grew by doubling, and a segment stays in memory until it is on the disk
	s, err := zap.InitSegmentBase(mem, crc32.ChecksumIEEE(mem), zap.DefaultChunkMode, w.docs, stored, fields, config, stats)
	return s, uint64(len(mem)), err
}

// MergeUsing implements Bleve's SegmentPlugin. A merge does not check what it reads, and would carry damage over into
// a file whose checksum matches. So MergeUsing verifies the files first. If one is damaged, the merge waits until the
// index is closed, which happens once it has been rebuilt: after an error Bleve would try again at once.
func (p *plugin) MergeUsing(segments []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, stats segment.StatsReporter, config map[string]any) ([][]uint64, uint64, error) {
	for _, s := range segments {
		from := pathOf(s)
		if from == "" {
			continue
		}
		if err := verify(context.Background(), from, 0); errors.Is(err, ErrCorrupt) {
			if x := openedAt(filepath.Dir(path)); x != nil {
				_ = x.reportDamage(err)
			}
			<-closed
			return nil, 0, segment.ErrClosed
		}
	}
	return p.ZapPlugin.MergeUsing(segments, drops, path, closed, stats, config)
}

// A segmentWriter writes a segment: the ids, each field's postings and dictionary, and where the fields are.
type segmentWriter struct {
	b     []byte
	docs  uint64
	yield func() // called often, to yield the processor; see Index.yielding

	dictionary bytes.Buffer
	rows       roaring.Bitmap // of a term
	freqs      []byte         // of a term
	ends       []uint64       // of the chunks of freqs
}

// A hit is a posting: a document that has a term.
type hit struct {
	doc, norm uint32
	freq      uint64
}

// A termHits is a term and its postings, by document.
type termHits struct {
	term string
	hits []hit
}

// stored writes the ids and their offsets.
func (w *segmentWriter) stored(p *part) (at uint64) {
	starts := make([]uint64, len(p.rows))
	for doc, row := range p.rows {
		starts[doc] = uint64(len(w.b))
		id := hex8(row.row)
		w.b = append(w.b, 1, byte(len(id)+1), byte(len(id))) // the lengths of what follows: the id's length; the id and the other fields
		w.b = append(append(w.b, id...), 0)                  // nothing, as snappy compresses it
	}
	at = uint64(len(w.b))
	for _, s := range starts {
		w.b = binary.BigEndian.AppendUint64(w.b, s)
	}
	w.b = append(w.b, 0) // documents inside of others
	return at
}

// fields writes all fields and their offsets.
func (w *segmentWriter) fields(p *part) (at uint64, err error) {
	list := []struct {
		name    string
		options bleve.FieldIndexingOptions
		terms   []termHits
	}{
		{fieldID, bleve.IndexField | bleve.StoreField,
			p.terms(func(r *tailRow) (string, hit) { return hex8(r.row), hit{freq: 1, norm: 1} })},
		{fieldRow, bleve.IndexField, p.terms(func(r *tailRow) (string, hit) {
			return hex8(r.group), hit{freq: uint64(r.row) + rowBias, norm: uint32(r.length) + 1}
		})},
		{fieldTag, bleve.IndexField, p.terms(func(r *tailRow) (string, hit) {
			return hex8(r.tag.Revision), hit{freq: r.tag.Number + rowBias, norm: 1}
		})},
		{fieldText, bleve.IndexField, p.words()},
	}
	address := make([]uint64, len(list))
	for i, f := range list {
		if address[i], err = w.field(f.terms); err != nil {
			return 0, err
		}
	}
	for i, f := range list {
		start := uint64(len(w.b))
		w.b = append(append(w.b, byte(len(f.name))), f.name...)
		w.b = append(binary.AppendUvarint(w.b, uint64(f.options)), 1) // one section follows
		w.b = binary.BigEndian.AppendUint16(w.b, zap.SectionInvertedTextIndex)
		w.b = binary.BigEndian.AppendUint64(w.b, address[i])
		address[i] = start
	}
	at = uint64(len(w.b))
	w.b = append(w.b, byte(len(list)))
	for _, a := range address {
		w.b = binary.BigEndian.AppendUint64(w.b, a)
	}
	return at, nil
}

// field writes the postings and the dictionary of a field.
func (w *segmentWriter) field(terms []termHits) (at uint64, err error) {
	slices.SortFunc(terms, func(a, b termHits) int { return cmp.Compare(a.term, b.term) })
	w.dictionary.Reset()
	d, err := vellum.New(&w.dictionary, nil)
	if err != nil {
		return 0, err
	}
	for i := range terms {
		place, err := w.postings(terms[i].hits)
		if err == nil {
			err = d.Insert([]byte(terms[i].term), place)
		}
		if err != nil {
			return 0, err
		}
		w.yield()
	}
	if err := d.Close(); err != nil {
		return 0, err
	}
	dictionary := uint64(len(w.b))
	w.b = append(binary.AppendUvarint(w.b, uint64(w.dictionary.Len())), w.dictionary.Bytes()...)
	at = uint64(len(w.b))
	// the range of the terms by document: there are none
	for _, n := range [...]uint64{math.MaxUint64, math.MaxUint64, dictionary} {
		w.b = binary.AppendUvarint(w.b, n)
	}
	return at, nil
}

// chunkHits is about the largest number of postings in a chunk.
const chunkHits = 1024

// postings writes the postings of a term: frequencies and norms in chunks, and the documents.
func (w *segmentWriter) postings(hits []hit) (at uint64, err error) {
	size := w.docs / (uint64(len(hits))/chunkHits + 1) // of a chunk, in documents
	w.ends = append(w.ends[:0], make([]uint64, (w.docs-1)/size+1)...)
	w.freqs = w.freqs[:0]
	w.rows.Clear()
	for _, h := range hits {
		w.freqs = binary.AppendUvarint(w.freqs, h.freq<<1) // the lowest bit would say that places in the text follow
		w.freqs = binary.AppendUvarint(w.freqs, uint64(h.norm))
		w.ends[uint64(h.doc)/size] = uint64(len(w.freqs))
		w.rows.Add(h.doc)
	}
	freqs, end := uint64(len(w.b)), uint64(0)
	w.b = binary.AppendUvarint(w.b, uint64(len(w.ends)))
	for _, e := range w.ends {
		end = max(end, e)
		w.b = binary.AppendUvarint(w.b, end)
	}
	w.b = append(w.b, w.freqs...)
	at = uint64(len(w.b))
	w.b = append(binary.AppendUvarint(w.b, freqs), 0) // 0: no places in the text
	w.b = binary.AppendUvarint(w.b, w.rows.GetSerializedSizeInBytes())
	rows, err := w.rows.ToBytes()
	w.b = append(w.b, rows...)
	return at, err
}

// A part holds the rows of a block that a batch has.
type part struct {
	block *block
	rows  []*tailRow // document n is the n-th
	yield func()
}

// terms collects the terms of a field in which each row has one term.
func (p *part) terms(termOf func(*tailRow) (string, hit)) []termHits {
	var list []termHits
	at := map[string]int{}
	for doc, r := range p.rows {
		term, h := termOf(r)
		h.doc = uint32(doc)
		i, ok := at[term]
		if !ok {
			i = len(list)
			at[term], list = i, append(list, termHits{term: term})
		}
		list[i].hits = append(list[i].hits, h)
	}
	return list
}

// words collects the terms of the texts.
func (p *part) words() []termHits {
	counts := make([]int, len(p.block.terms))
	all := 0
	for _, r := range p.rows {
		for _, t := range r.terms {
			counts[t.term]++
		}
		all += len(r.terms)
	}
	hits := make([]hit, all)
	list := make([]termHits, len(counts))
	for n, count := range counts {
		list[n] = termHits{p.block.terms[n].term, hits[:0:count]}
		hits = hits[count:]
	}
	for doc, r := range p.rows {
		for _, t := range r.terms {
			list[t.term].hits = append(list[t.term].hits, hit{uint32(doc), uint32(r.length), uint64(t.tf)})
		}
		p.yield()
	}
	return slices.DeleteFunc(list, func(t termHits) bool { return len(t.hits) == 0 })
}
