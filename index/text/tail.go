package text

import (
	"slices"
	"strings"
)

// A posting says that a row contains a term: 8 bytes.
type posting struct {
	row        uint32
	tf, length uint16
}

type termFreq struct {
	term string
	tf   uint16
}

// A document is an analysed row.
type document struct {
	row, group uint32
	tag        Tag
	length     uint16
	terms      []termFreq // sorted by term
}

// document turns a row into what is indexed of it. A text with terms has length 1 at least. The analyser may be used again.
func (a *analyzer) document(r Row) document {
	a.text, a.max, a.counted, a.tokens, a.stops = r.Text, MaxTokens, 0, a.tokens[:0], a.stops[:0]
	tokens := a.run()
	d := document{row: r.Row, group: r.Group, tag: r.Tag}
	slices.SortFunc(tokens, func(a, b Token) int { return strings.Compare(a.Term, b.Term) })
	distinct := 0
	for i := range tokens {
		if i == 0 || tokens[i].Term != tokens[i-1].Term {
			distinct++
		}
	}
	d.terms = make([]termFreq, 0, distinct)
	length := 0
	for i := 0; i < len(tokens); {
		j := i
		for ; j < len(tokens) && tokens[j].Term == tokens[i].Term; j++ {
			if !tokens[j].Extra {
				length++
			}
		}
		d.terms = append(d.terms, termFreq{tokens[i].Term, uint16(min(j-i, 1<<16-1))})
		i = j
	}
	d.length = uint16(min(max(length, min(len(d.terms), 1)), 1<<16-1))
	return d
}

// A block is a piece of the tail: the changes of some consecutive Apply calls,
// searchable at once and given to Bleve as one batch. Only the newest block changes.
type block struct {
	docs    []document
	deletes []uint32
	terms   map[string][]posting // appended to only: a slice read earlier stays right
	bytes   int
	applied uint64 // the watermark once this block is persisted
	seq     uint64 // of the last change in it
	added   uint64 // Index.added then
}

func newBlock() *block { return &block{terms: make(map[string][]posting)} }

func (b *block) add(d document) {
	b.docs = append(b.docs, d)
	for _, t := range d.terms {
		b.terms[t.term] = append(b.terms[t.term], posting{d.row, t.tf, d.length})
		b.bytes += len(t.term) + 40
	}
}

func (b *block) empty() bool { return len(b.docs) == 0 && len(b.deletes) == 0 }
