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
	// says whether the answer has room for memories of so many bytes together: the last rows are left out; nil: it has
	Room func(bytes int) bool
	Deep int // rows to return if that is more than K: the caller orders them anew and cuts to K
	Filter
	Rare     int     // words that more rows have find nothing, and no other words stand for unknown ones: the search has a bounded cost; 0: all count
	Skip     int     // of a list: how many of the newest rows to leave out
	MinScore float64 // rows that score less are left out; 0 leaves out none
	Expand   bool    // follow relations of entities named in the question
	Bare     bool    // hits come with their memories' numbers, ids and times alone: the caller reads the rest
	Hashed   bool    // the vector is a hashed embedder's: it only fills what words leave empty
	// of the embedder that made the vector, when a node did: the index ignores it where its vectors are of another one
	Epoch   *uint32
	Weights *rank.Weights     // learned by the database; nil for the default
	Without []string          // signals that are not to count: rank.Switches
	Diverse bool              // leave out what nearly repeats something better, and prefer what does not
	Now     time.Time         // of the question: decides recency and decay
	Explain bool              // Info.Left is wanted, which costs a walk over all rows
	Quiet   bool              // for the node: do not strengthen the memories found; the index ignores it
	Pick    func([]Hit) []Hit // the caller's last cut: the memories that it leaves out are not strengthened; nil leaves all
}

// A Filter says which rows may be in an answer. Zero values do not filter.
type Filter struct {
	Types        []string
	Namespace    string
	Spaces       oplog.Spaces // rows of other namespaces are not seen, nor counted in any statistic
	Domain       string
	Source       string
	Session      string
	Private      string // rows of namespaces with this prefix are not seen,
	Within       string // but for those of this one
	Tier         string
	Owner        string
	Since, Until oplog.Time       // of creation
	Match        *filter.Filter   // of attributes and fields; nil lets all pass
	Consolidated bool             // also memories that were merged into others
	Admit        func(Facts) bool // the caller's own filter, called inside the scans by several goroutines; nil admits all
}

// MaxQuestion limits the bytes of a question that are read: some ten thousand words, of which the first
// text.MaxQueryTokens different ones are looked for.
const MaxQuestion = 64 << 10

// Question returns the part of a text that is read as a question.
func Question(s string) string { return cut(s, MaxQuestion) }

// cut is a text's first n bytes, without a piece of a letter at the end.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	end := n
	for end > n-utf8.UTFMax && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}

// Facts holds what a caller's own filter may look at.
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

	By      Against   // the newer memory that superseded it; the index knows none
	Against []Against // the memories that it contradicts, by open conflicts; the index knows none
	Later   Against   // a newer memory of the answer that is about the same; the index knows none
}

// Against is a memory that a hit contradicts, and whether it is older, newer or as old.
type Against struct {
	RID string
	Seq oplog.Seq
	Age string
}

// Reranked holds a reranker's score of a hit and its place before.
type Reranked struct {
	Score float64 // the reranker's, on a scale of its own
	Place int     // the first order's, from 1
}

// Info describes an answer as a whole.
type Info struct {
	Confidence float64
	Considered int // rows that were looked at
	Matched    int // of those, the ones that match the question (see package rank); nothing else is an answer
	Below      int // of those, the ones that score less than MinScore
	Cut        int // rows that had no room in the answer

	Left []Left // what each filter left, where the query wants to know
}

// Left says how many rows a filter left of those that the filters before it left.
type Left struct {
	Filter string // its name in a request, or the JSON of a part of Match
	Rows   int
}

// Lists says that a query asks nothing: whatever passes its filters belongs to the answer, the newest first, with a
// score of 0.
func (q *Query) Lists() bool { return len(q.Vector) == 0 && strings.TrimSpace(q.Text) == "" }

// MaxK bounds Query.K and Query.Deep.
const MaxK = 1000
