package verbs

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// scored is a search result with a score from 0 to 1.
type scored struct {
	Record
	score  float64
	memory *oplog.Memory
}

// search ranks the memories of a session by their relevance to a question. It returns the memories with a score above
// 0 and at least minScore, best first. With quiet, it does not reinforce them.
func (s *Session) search(ctx context.Context, question, tier string, scopes []scope, limit uint64, minScore float64, quiet bool) ([]scored, error) {
	if strings.TrimSpace(question) == "" || limit == 0 {
		return nil, nil
	}
	canSee := s.visible(tier, scopes)
	k := int(min(limit, api.MaxHits))
	if slices.ContainsFunc(scopes, scope.limitsRecords) {
		k = api.MaxHits // inScope removes some of the hits
	}
	var out []scored
	// Only memories that are returned are reinforced.
	pick := func(hits []api.Hit) []api.Hit {
		shown := map[*oplog.Memory]api.Hit{}
		for _, h := range hits {
			r := scored{Record: s.toRecord(h.Memory), memory: h.Memory}
			r.score = relevance(h, r.Text, question)
			if r.score > 0 && r.score >= minScore && inScope(scopes, &r.Record) {
				out, shown[h.Memory] = append(out, r), h
			}
		}
		slices.SortStableFunc(out, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Created, a.Created), cmp.Compare(a.ID, b.ID))
		})
		out = out[:min(uint64(len(out)), limit)]
		hits = hits[:0]
		for _, r := range out {
			hits = append(hits, shown[r.memory])
		}
		return hits
	}
	_, err := api.Search.Ask(ctx, s.Config.Memory, &api.SearchRequest{Text: question, K: max(k, 50), Quiet: quiet, Pick: pick,
		Admit: func(f api.Facts) bool { return canSee(f.Namespace, f.Owner, f.Tier, home.ToMillis(f.Created)) }})
	return out, err
}

// relevance clamps a score to 0..1. Only the exact text scores 1.
func relevance(h api.Hit, shown, question string) float64 {
	q := strings.TrimSpace(question)
	if strings.TrimSpace(h.Memory.Text) == q || strings.TrimSpace(shown) == q || strings.TrimSpace(h.Memory.Intent()) == q {
		return 1
	}
	if math.IsNaN(h.Score) {
		return 0
	}
	return min(max(h.Score, 0), maxInexact)
}

// maxInexact is the highest score of a text that is not the question itself.
const maxInexact = 0.99

func searchMemory(f *serve.Fields) Action {
	query, tier, limit, quiet := f.Text("query"), protocol.Tier(f, "tier"), f.Count("limit", 10), f.Flag("skip_reinforce")
	minScore := serve.ValueOr(serve.Optional[float64](f, "min_relevance", "not a number"), 0)
	return func(ctx context.Context, s *Session) (any, error) {
		scopes, err := s.passingScopes(ctx, readGate("search", "search", tier))
		if err != nil {
			return nil, err
		}
		found, err := s.search(ctx, query, tier, scopes, limit, minScore, quiet)
		if err == nil {
			err = s.addVectors(ctx, found)
		}
		out := []any{}
		for _, r := range found {
			if s.Config.ShowScore {
				r.Metadata = withMember(r.Metadata, "_score", r.score)
			}
			out = append(out, &r.Record)
		}
		return protocol.List{Kind: "memories", Name: "records", Items: out}, home.StoreError("memory", err)
	}
}

// addVectors adds the vectors of the found records.
func (s *Session) addVectors(ctx context.Context, found []scored) error {
	q, at := &api.NumberedRequest{Vectors: true}, map[oplog.Seq]int{}
	for i, r := range found {
		q.Seqs, at[r.memory.Seq] = append(q.Seqs, r.memory.Seq), i
	}
	a, err := api.Numbered.Ask(ctx, s.Config.Memory, q)
	if err != nil {
		return err
	}
	for _, m := range a.Memories {
		found[at[m.Seq]].Embedding = m.Vector
	}
	return nil
}
