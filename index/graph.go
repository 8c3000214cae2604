package index

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// How far a question is followed through the graph.
const (
	maxSeeds    = 8   // entities named in the question
	maxHops     = 2   // from a seed
	maxReached  = 30  // entities
	maxDegree   = 64  // relations looked at of one entity
	entityRows  = 100 // rows looked at of one entity
	nameWords   = 5   // of a name that a question can contain
	nameLetters = 16  // of a name in a script without spaces
	graphFactor = 5   // rows the graph may add, times K
)

// names finds the entities that a text names, by their own names and by aliases. The database's writer fills it;
// searches read it.
type names struct {
	mu       sync.RWMutex
	entities map[string][]string           // folded name → names, sorted
	count    int                           // of them
	aliases  map[string]map[string][]alias // folded alias → namespace → the aliases that fold to it, sorted by bytes
}

// An alias is a name as it is spelled, and the name that it stands for.
type alias struct{ spelled, canonical string }

func newNames() names {
	return names{entities: map[string][]string{}, aliases: map[string]map[string][]alias{}}
}

// fold returns a name's words in lower case, and in one of the ways to write letters with marks.
func fold(name string) string { return strings.Join(foldWords(name), " ") }

func foldWords(s string) []string {
	return strings.FieldsFunc(norm.NFC.String(strings.ToLower(s)),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) })
}

func (n *names) entity(name string) {
	key := fold(name)
	if key == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	existing := n.entities[key]
	if i, ok := slices.BinarySearch(existing, name); !ok {
		n.entities[key] = slices.Insert(slices.Clone(existing), i, name)
		n.count++
	}
}

func (n *names) alias(namespace, spelled, canonical string) {
	key := fold(spelled)
	if key == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.aliases[key] == nil {
		n.aliases[key] = map[string][]alias{}
	}
	existing := n.aliases[key][namespace]
	i, known := slices.BinarySearchFunc(existing, spelled, func(a alias, s string) int { return strings.Compare(a.spelled, s) })
	if known {
		existing[i].canonical = canonical
	} else {
		n.aliases[key][namespace] = slices.Insert(existing, i, alias{spelled, canonical})
	}
}

// resolve returns the name that an alias stands for in a namespace. Of aliases that differ only in case, the last one
// by its bytes counts, in whatever order they came.
func (n *names) resolve(key, namespace string) (canonical string, ok bool) {
	for _, ns := range []string{cmp.Or(namespace, "default"), "default"} {
		if list := n.aliases[key][ns]; len(list) > 0 {
			return list[len(list)-1].canonical, true
		}
	}
	return "", false
}

// addFrom adds the names in an operation. The names that a memory mentions come with the memory (page.flush).
func (n *names) addFrom(op oplog.Op) {
	switch op := op.(type) {
	case *oplog.Relate:
		n.entity(op.Src)
		n.entity(op.Dst)
	case *oplog.Claim:
		n.entity(op.Src)
		n.entity(op.Dst)
	case *oplog.Assert:
		n.addFrom(&op.Claim)
	case *oplog.HandOn: // a merged memory's relations are its product's
		for _, e := range op.Edges {
			n.entity(e.Into)
		}
	case *oplog.Alias:
		n.alias(op.Namespace, op.Alias, op.Canonical)
	case *oplog.Foreign:
		n.addFrom(op.Effect())
	}
}

// load replaces all names by those of the state.
func (n *names) load(v *state.View, db oplog.DB) {
	loaded := newNames()
	v.Entities(db, "", func(e oplog.Entity) bool {
		loaded.entity(e.Name)
		return true
	})
	n.mu.Lock()
	n.entities, n.count = loaded.entities, loaded.count
	n.mu.Unlock()
	n.loadAliases(v, db)
}

// loadAliases replaces all aliases by those of the state.
func (n *names) loadAliases(v *state.View, db oplog.DB) {
	loaded := newNames()
	v.Aliases(db, func(namespace, alias string, to oplog.StoredAlias) bool {
		loaded.alias(namespace, alias, to.Canonical)
		return true
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	n.aliases = loaded.aliases
}

// namesSlack bounds the names of entities that are gone: as many as existing entities, plus this number.
const namesSlack = 1000

// outgrown reports whether most names are of entities that are gone. The index does not know which, so it reads all
// again.
func (n *names) outgrown(entities uint64) bool {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return n.count > 2*int(entities)+namesSlack
}

// erasesName reports whether an operation erases a name for good.
func erasesName(op oplog.Op) bool {
	p, ok := op.(*oplog.Purge)
	return ok && len(p.Name) > 0
}

// A seed is an entity that a question names.
type seed struct {
	name    string
	byAlias bool // the question names it by an alias
}

// find returns the entities that a text names, in the order of the text, longer names first. It leaves out entities
// that no longer exist, so that an old index answers like one that was opened after they went and never knew their
// names.
func (n *names) find(s, namespace string, exists func(name string) bool) (found []seed) {
	words := foldWords(s)
	n.mu.RLock()
	defer n.mu.RUnlock()
	lookUp := func(key string) (known bool) {
		add := func(name string, byAlias bool) {
			if !byAlias && !exists(name) {
				return
			}
			if known = true; len(found) < maxSeeds && !slices.ContainsFunc(found, func(s seed) bool { return s.name == name }) {
				found = append(found, seed{name, byAlias})
			}
		}
		for _, name := range n.entities[key] {
			add(name, false)
		}
		if name, ok := n.resolve(key, namespace); ok {
			add(name, true)
		}
		return known
	}
	for i := 0; i < len(words) && len(found) < maxSeeds; i++ {
		for j := min(len(words), i+nameWords); j > i; j-- {
			lookUp(strings.Join(words[i:j], " "))
		}
		if text.Spaceless(words[i]) {
			eachNameInside(words[i], lookUp)
		}
	}
	return found
}

// eachNameInside calls lookUp with the parts of a word that may be names, because scripts without spaces write whole
// sentences as one word. Of the parts that begin at the same character it takes the longest one that lookUp knows,
// and continues behind it. A single character of such a script is not a name.
func eachNameInside(word string, lookUp func(key string) bool) {
	var starts []int // of the characters, each with its marks, and of the words in other scripts
	var alone []bool // which of them may be a name alone
	inWord := false  // a word in another script
	for i, r := range word {
		spaceless := text.Spaceless(string(r))
		if !unicode.IsMark(r) && (spaceless || !inWord) {
			starts, alone = append(starts, i), append(alone, !spaceless)
			inWord = !spaceless
		}
	}
	starts = append(starts, len(word))
	for i := 0; i < len(alone); {
		j := min(len(alone), i+nameLetters)
		for j > i && !((j > i+1 || alone[i]) && lookUp(word[starts[i]:starts[j]])) {
			j--
		}
		i = max(i+1, j)
	}
}

// A reached entity is one that the graph leads to from the question.
type reached struct {
	name      string
	weight    float64 // product of the relations' weights on the way
	hops      int
	proximity float64
}

// walk follows relations and claims from the seeds, breadth first and in both directions. The state gives the order,
// so every replica reaches the same entities.
func (in *question) walk(seeds []seed) []reached {
	var out []reached
	known := map[string]bool{}
	for _, s := range seeds {
		out = append(out, reached{name: s.name, weight: 1, proximity: 1})
		known[s.name] = true
	}
	for i := 0; i < len(out) && len(out) < maxReached; i++ {
		from := out[i]
		if from.hops == maxHops {
			break
		}
		for _, to := range in.neighbours(from.name) {
			if known[to.name] || len(out) == maxReached {
				continue
			}
			known[to.name] = true
			to.weight = float64(from.weight * to.weight)
			to.hops = from.hops + 1
			to.proximity = to.weight / float64(int(1)<<(2*to.hops))
			out = append(out, to)
		}
	}
	return out
}

// neighbours returns the entities that a relation or an affirmed claim joins to a name, the strongest first.
func (in *question) neighbours(name string) (out []reached) {
	add := func(a, b string, weight float64) {
		other := a
		if a == name {
			other = b
		}
		if weight > 0 && other != name {
			out = append(out, reached{name: other, weight: min(weight, 1)})
		}
	}
	if !in.q.Spaces.Bind() { // a relation belongs to no namespace
		for _, e := range in.view.Edges(in.db, name, maxDegree) {
			add(e.Src, e.Dst, e.Weight)
		}
	}
	for _, c := range in.view.Claims(in.db, name, in.q.Reach(), maxDegree) {
		if c.Polarity >= 0 {
			add(c.Src, c.Dst, c.Weight)
		}
	}
	slices.SortStableFunc(out, func(a, b reached) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.name, b.name))
	})
	return out
}

// searchGraph sets the proximity of rows that name entities near the question's, and adds the best rows that no other
// search found.
func (in *question) searchGraph(cands []rank.Candidate) ([]rank.Candidate, error) {
	asked := text.AnalyzeQuery(in.q.Text)
	slices.Sort(asked)
	seeds := in.d.names.find(in.q.Text, in.q.Namespace, func(name string) bool { _, ok := in.view.Entity(in.db, name); return ok })
	seeds = slices.DeleteFunc(seeds, func(s seed) bool { // a name that is a function word in the question is not a name there
		terms := text.AnalyzeQuery(s.name)
		return !s.byAlias && (len(terms) == 0 || !contains(asked, terms))
	})
	if len(seeds) == 0 {
		return cands, nil
	}
	at := make(map[uint32]int, len(cands))
	for i, c := range cands {
		at[c.Row] = i
	}
	var fresh []rank.Candidate
	for _, r := range in.walk(seeds) {
		terms := text.AnalyzeQuery(r.name)
		if len(terms) == 0 || contains(asked, terms) { // the words find and weigh it already; counting it twice costs recall
			continue
		}
		proximity := r.proximity
		if e, ok := in.view.Entity(in.db, r.name); ok && r.hops == 0 && !in.q.Spaces.Bind() {
			proximity /= rank.Rarity(e.Mentions) // an entity in every memory tells little
		}
		rows, err := in.d.words.Search(text.Query{Terms: terms, Exact: true, Groups: in.groups(), Keep: in.Keep,
			Order: in.newest, Tie: in.tie, K: entityRows})
		if err != nil {
			return cands, err
		}
		for _, h := range rows {
			if h.Matched < len(terms) {
				continue
			}
			i, ok := at[h.Row]
			if !ok {
				i = len(cands) + len(fresh)
				at[h.Row] = i
				fresh = append(fresh, rank.Candidate{Row: h.Row})
			}
			setProximity(candidate(cands, fresh, i), in.halvedIfMerged(h.Row, proximity), r.name)
		}
	}
	slices.SortFunc(fresh, func(a, b rank.Candidate) int {
		return cmp.Or(cmp.Compare(in.graphOrder(b), in.graphOrder(a)), in.tie(a.Row, b.Row))
	})
	return append(cands, fresh[:min(len(fresh), graphFactor*in.q.K)]...), nil
}

// contains reports whether all terms are among sorted ones.
func contains(sorted, terms []string) bool {
	for _, t := range terms {
		if _, ok := slices.BinarySearch(sorted, t); !ok {
			return false
		}
	}
	return true
}

// candidate returns the i-th of cands followed by fresh.
func candidate(cands, fresh []rank.Candidate, i int) *rank.Candidate {
	if i < len(cands) {
		return &cands[i]
	}
	return &fresh[i-len(cands)]
}

func setProximity(c *rank.Candidate, proximity float64, via string) {
	if proximity > c.Graph {
		c.Graph, c.Via = proximity, via
	}
}

// halvedIfMerged halves the proximity of memories that were merged into others.
func (in *question) halvedIfMerged(row uint32, proximity float64) float64 {
	if in.d.facets.at(in.cols.facet(row).Load()).status == oplog.Consolidated {
		return proximity / 2
	}
	return proximity
}

// graphOrder returns the score by which rows that only the graph found are ordered.
func (in *question) graphOrder(c rank.Candidate) float64 {
	return float64(in.cols.at(c.Row).row().Importance * (.3 + float64(.7*c.Graph)))
}
