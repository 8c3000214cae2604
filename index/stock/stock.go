// Package stock is Bleve as it comes, with its English analyzer and BM25. Recall by words is measured against it; no
// node uses it.
package stock

import (
	"context"
	"fmt"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"
)

// An Index holds texts, added once. One goroutine at a time may use it.
type Index struct {
	bleve bleve.Index
	batch *bleve.Batch // texts that are not indexed yet
}

const field = "text"

// Open makes an empty index in a directory that is not there yet, or, without one, in memory.
func Open(dir string) (*Index, error) {
	f := mapping.NewTextFieldMapping()
	f.Analyzer, f.Store, f.IncludeInAll, f.IncludeTermVectors = en.AnalyzerName, false, false, false
	doc := mapping.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt(field, f)
	m := mapping.NewIndexMapping()
	m.DefaultMapping, m.ScoringModel = doc, index.BM25Scoring
	b, err := bleve.NewUsing(dir, m, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	return &Index{b, b.NewBatch()}, nil
}

// Add adds a text. All texts added before Flush or the first question make one segment, because Bleve's scores depend
// on segments.
func (x *Index) Add(id, text string) error { return x.batch.Index(id, map[string]any{field: text}) }

// Flush indexes what was added.
func (x *Index) Flush() error {
	if x.batch.Size() == 0 {
		return nil
	}
	defer func() { x.batch = x.bleve.NewBatch() }()
	return x.bleve.Batch(x.batch)
}

// Merge merges everything that was added into one segment.
func (x *Index) Merge(ctx context.Context) error {
	if err := x.Flush(); err != nil {
		return err
	}
	inner, err := x.bleve.Advanced()
	if err != nil {
		return err
	}
	segments, ok := inner.(*scorch.Scorch)
	if !ok {
		return fmt.Errorf("stock: Bleve's index is a %T", inner)
	}
	return segments.ForceMerge(ctx, nil)
}

// Ask returns the ids of the K best texts, best first.
func (x *Index) Ask(question string, k int) ([]string, error) {
	if err := x.Flush(); err != nil {
		return nil, err
	}
	match := bleve.NewMatchQuery(question)
	match.SetField(field)
	r := bleve.NewSearchRequestOptions(match, k, 0, false)
	r.SortBy([]string{"-_score", "_id"})
	found, err := x.bleve.Search(r)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(found.Hits))
	for i, h := range found.Hits {
		ids[i] = h.ID
	}
	return ids, nil
}

// Close frees the index.
func (x *Index) Close() error { return x.bleve.Close() }
