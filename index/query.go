package index

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
)

// A Query is a question to one database.
type Query struct {
	Text   string
	Vector []float32
	K      int
	// Room reports whether the answer has room for memories of this many bytes together; the last rows are left out
	// until it has. nil: there is room.
	Room func(bytes int) bool
	Deep int // rows to return if more than K: the caller reorders them and cuts to K
	Filter
	MaxDF    int     // words that more rows have are not searched for, nor are unknown words replaced: the cost is bounded; 0: no bound
	Skip     int     // of a list: how many of the newest rows to leave out
	MinScore float64 // rows that score less are left out; 0 leaves out none
	Expand   bool    // follow relations of entities named in the question
	Bare     bool    // hits have only the numbers, ids and times of their memories: the caller reads the rest
	Hashed   bool    // the vector is a hashed embedder's: it only orders rows that words do not find
	// Epoch is that of the embedder that made the vector, if a node did. The index ignores the vector when its own are
	// of another epoch.
	Epoch   *uint32
	Weights *rank.Weights     // learned by the database; nil for the default
	Without []string          // signals to turn off: rank.Switches
	Diverse bool              // leave out rows that nearly repeat a better one, and prefer rows that differ
	Now     time.Time         // the question's moment: recency, decay and relative dates count from it
	Explain bool              // fill Info.Left, which scans all rows
	Quiet   bool              // for the node: do not reinforce the memories found; the index ignores it
	Pick    func([]Hit) []Hit // the caller's last cut: memories that it drops are not reinforced; nil keeps all
}

// A Filter says which rows may be in an answer. Zero values do not filter.
type Filter struct {
	Types        []string
	Namespace    string
	Spaces       oplog.Spaces // rows of other namespaces are not found, nor counted in statistics
	Domain       string
	Source       string
	Session      string
	Private      string // rows of namespaces with this prefix are not found,
	Within       string // except those of this namespace
	Tier         string
	Owner        string
	Since, Until oplog.Time       // of creation
	Match        *filter.Filter   // of attributes and fields; nil lets all pass
	Consolidated bool             // also memories that were merged into others
	Admit        func(Facts) bool // the caller's own filter, called inside the scans by several goroutines; nil admits all
}

// MaxQuestion limits the bytes of a question that are read: some ten thousand words, of which the first
// text.MaxQueryTokens distinct ones are searched for.
const MaxQuestion = 64 << 10

// Question returns the part of a text that is read as a question: its first MaxQuestion bytes, without a part of a
// character at the end.
func Question(s string) string {
	if len(s) <= MaxQuestion {
		return s
	}
	end := MaxQuestion
	for end > MaxQuestion-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Facts holds the fields of a memory that Filter.Admit may use.
type Facts struct {
	Namespace, Owner, Tier string
	Created                oplog.Time
}

// A Hit is one answer.
type Hit struct {
	Memory *oplog.Memory
	Score  float64
	Why    []string // never empty
	Parts  rank.Parts
	Rerank *Reranked // where a reranker put it; nil where none did

	// The node fills these in.
	Corrected oplog.Time // when its text was corrected last
	By        Against    // the newer memory that superseded it
	Against   []Against  // the memories that it contradicts, by open conflicts
	Later     Against    // a newer memory of the answer about the same subject
}

// Against is a memory that a hit contradicts, and whether it is older, newer or as old.
type Against struct {
	RID string
	Seq oplog.Seq
	Age string
}

// Reranked holds a reranker's score of a hit and its place before.
type Reranked struct {
	Score float64 // the reranker's, on its own scale
	Place int     // the first order's, from 1
}

// Info describes an answer as a whole.
type Info struct {
	Confidence float64
	Considered int // rows that were looked at
	Matched    int // of those, the ones that match the question (package rank): only these can be in the answer
	Below      int // of those, the ones that score less than MinScore
	Cut        int // rows without room in the answer

	Left []Left // rows that each filter left, if the query asks for them (Explain)
}

// Left returns the number of rows that passed a filter and those before it.
type Left struct {
	Filter string // its name in a request, or the JSON of a part of Match
	Rows   int
}

// Lists reports whether a query has neither words nor a vector: every row that passes its filters belongs to the
// answer, the newest first, with a score of 0.
func (q *Query) Lists() bool { return len(q.Vector) == 0 && strings.TrimSpace(q.Text) == "" }

// MaxK bounds Query.K and Query.Deep.
const MaxK = 1000
