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

// A Document is an analysed text, on its way to become a row. Its terms may be pieces of the text.
type Document struct {
	row, group uint32
	tag        Tag
	length     uint16
	terms      []termFreq // distinct, in reading order
}

// Length returns the text's length in tokens.
func (d Document) Length() uint32 { return uint32(d.length) }

// As makes the document a row. Row numbers are dense, ascend in the order of changes, and are never used twice: a
// changed text is a new row and a deleted old one. group is a small number for the namespace.
func (d Document) As(row, group uint32, tag Tag) Document {
	d.row, d.group, d.tag = row, group, tag
	return d
}

// maxKept limits the terms of a table that is used again: emptying a table costs as much as its largest size ever.
const maxKept = 4096

// document counts the terms of a text. A text with terms has length 1 at least. The analyser may be used again.
func (a *analyzer) document(text string) (d Document) {
	tokens := a.analyse(text)
	if a.seen == nil || len(a.seen) > maxKept {
		a.seen = make(map[string]int)
	}
	clear(a.seen)
	length := 0
	terms := a.terms[:0]
	for _, t := range tokens {
		n, ok := a.seen[t.Term]
		if !ok {
			n = len(terms)
			a.seen[t.Term] = n
			terms = append(terms, termFreq{term: t.Term})
		}
		f := &terms[n]
		f.tf = uint16(min(int(f.tf)+1, 1<<16-1))
		if !t.Extra {
			length++
		}
	}
	d.terms, a.terms = slices.Clone(terms), terms
	d.length = uint16(min(max(length, min(len(d.terms), 1)), 1<<16-1))
	return d
}

// A tailRow is a row of a block.
type tailRow struct {
	row, group uint32
	tag        Tag
	length     uint16
	terms      []termRef
}

// A termRef is a term of a row, by its number in the block.
type termRef struct {
	term uint32
	tf   uint16
}

// A tailTerm is a term of a block and the rows that contain it.
type tailTerm struct {
	term string
	list []posting // appended to only: a slice read earlier stays right
}

// A block is a piece of the tail: the changes of some consecutive Apply calls,
// searchable at once and given to Bleve as one batch. Only the newest block changes. It has its own copy of each term
// once, and nothing of the texts.
type block struct {
	rows       []tailRow
	deletes    []uint32
	terms      []tailTerm
	numbers    map[string]uint32 // of the terms
	bytes      int               // in memory, about
	seq        uint64            // of the last change in it
	bytesAdded uint64            // Index.bytesAdded at that change
}

// Estimated bytes in memory for the parts of a block: slices that grew by doubling are three quarters full, maps
// less.
const (
	rowBytes     = 80
	postingBytes = 20
	termBytes    = 96 // and its letters
	deleteBytes  = 8
)

func newBlock() *block { return &block{numbers: make(map[string]uint32)} }

func (b *block) add(d Document) {
	refs := make([]termRef, len(d.terms))
	for i, t := range d.terms {
		n, ok := b.numbers[t.term]
		if !ok {
			n = uint32(len(b.terms))
			copied := strings.Clone(t.term)
			b.numbers[copied] = n
			b.terms = append(b.terms, tailTerm{term: copied})
			b.bytes += termBytes + len(copied)
		}
		refs[i] = termRef{n, t.tf}
		list := &b.terms[n].list
		*list = append(*list, posting{d.row, t.tf, d.length})
	}
	b.rows = append(b.rows, tailRow{d.row, d.group, d.tag, d.length, refs})
	b.bytes += rowBytes + postingBytes*len(refs)
}

func (b *block) remove(row uint32) {
	b.deletes = append(b.deletes, row)
	b.bytes += deleteBytes
}

// postings returns the rows that contain a term.
func (b *block) postings(term string) []posting {
	if n, ok := b.numbers[term]; ok {
		return b.terms[n].list
	}
	return nil
}

// full reports whether the block is as large as a batch should be.
func (b *block) full() bool { return len(b.rows) >= blockRows || b.bytes >= blockBytes }

func (b *block) empty() bool { return len(b.rows) == 0 && len(b.deletes) == 0 }
