// Package stock is Bleve as it comes, with its English analyzer and BM25: what recall by words is measured against. No node uses it.
package stock

import (
	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	index "github.com/blevesearch/bleve_index_api"
)

// An Index holds texts in memory, added once. One goroutine at a time may use it.
type Index struct {
	bleve bleve.Index
	batch *bleve.Batch // what Ask has not seen yet
}

const (
	field    = "text"
	inMemory = "" // where Bleve keeps an index that no path is given for
)

// New is an empty index.
func New() (*Index, error) {
	f := mapping.NewTextFieldMapping()
	f.Analyzer, f.Store, f.IncludeInAll, f.IncludeTermVectors = en.AnalyzerName, false, false, false
	doc := mapping.NewDocumentStaticMapping()
	doc.AddFieldMappingsAt(field, f)
	m := mapping.NewIndexMapping()
	m.DefaultMapping, m.ScoringModel = doc, index.BM25Scoring
	b, err := bleve.NewUsing(inMemory, m, scorch.Name, scorch.Name, nil)
	if err != nil {
		return nil, err
	}
	return &Index{b, b.NewBatch()}, nil
}

// Add adds a text. All texts added before the first question make one segment, because Bleve's scores depend on segments.
func (x *Index) Add(id, text string) error { return x.batch.Index(id, map[string]any{field: text}) }

// Ask returns the ids of the K best texts, best first.
func (x *Index) Ask(question string, k int) ([]string, error) {
	if x.batch.Size() > 0 {
		if err := x.bleve.Batch(x.batch); err != nil {
			return nil, err
		}
		x.batch = x.bleve.NewBatch()
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
