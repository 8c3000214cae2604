package sift

import (
	"cmp"
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// thread lists the other sessions that captured the same content as one, those with the most in common first.
func thread(ctx context.Context, c *call) (any, error) {
	session, ok := c.text("sessionId")
	if !ok || session == "" || len(session) > maxName {
		return nil, badRequest("thread: sessionId required")
	}
	limit, err := c.count("limit", 20, maxK)
	if err != nil {
		return nil, err
	}
	a, err := api.Alike.Ask(ctx, c.s.cfg.Memory, &api.AlikeRequest{Workspace: c.ns, Session: session})
	if err != nil {
		return nil, err
	}
	return kit.Object{"sessions", api.Each(a.Sessions[:min(len(a.Sessions), limit)], func(x api.AlikeSession) kit.Object {
		return kit.Object{"sessionId", x.Session, "sharedEvents", x.Shared, "lastTs", iso(int64(x.Last) / 1000)}
	})}, nil
}

// iso formats a time in milliseconds as this protocol does.
func iso(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z") }

const (
	fileConsent   = "federate.consent" // a file in the directory of a workspace that lets other workspaces search it
	maxWorkspaces = 32                 // of a federated search
)

// federatedHit is a hit and its workspace.
type federatedHit struct {
	hit
	Workspace string `json:"workspace"`
}

// federateSearch searches the workspaces whose users have consented. Memories of other protocols are not included.
func federateSearch(ctx context.Context, c *call) (any, error) {
	limit, err := c.count("maxWorkspaces", maxWorkspaces, maxWorkspaces)
	k, err2 := c.count("k", 5, maxK)
	if err := cmp.Or(err, err2); err != nil {
		return nil, err
	}
	if _, ok := c.text("query"); !ok {
		return nil, badRequest("federate_search: query required")
	}
	prefix, _ := c.text("workspacePrefix")
	hits, seen := []federatedHit{}, map[string]bool{}
	for _, w := range c.s.servedWorkspaces() {
		ns := w.Namespace(c.s.cfg.NS)
		if len(seen) == limit || seen[ns] || !strings.HasPrefix(w.Key, prefix) || !c.s.consents(w) {
			continue
		}
		seen[ns] = true
		sub := *c
		sub.w, sub.ns, sub.ownOnly = w, ns, true
		found, err := sub.search(ctx)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			hits = append(hits, federatedHit{h, w.Key})
		}
	}
	slices.SortStableFunc(hits, func(a, b federatedHit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), compareNewest(a.TS, b.TS, a.ID, b.ID))
	})
	return kit.Object{"hits", hits[:min(len(hits), k)]}, nil
}

// consents reports whether the directory of a workspace has the file that lets other workspaces search it.
func (s *Server) consents(w Workspace) bool {
	i, err := os.Stat(s.cfg.files(w.Key, fileConsent))
	return err == nil && i.Mode().IsRegular()
}

// symbolKinds maps the keyword of a declaration to the kind of its symbol. Other keywords are their own kind.
var symbolKinds = map[string]string{"func": "function", "fn": "function", "def": "function", "function": "function"}

var symbol = regexp.MustCompile(`(?m)^\s*(?:\d+[\s→|:]+)?(?:pub |export |default |async |public |private |static )*(func|def|class|type|struct|interface|enum|fn|function|const|trait)\s+(?:\([^)\n]*\)\s*)?([A-Za-z_][A-Za-z0-9_]{0,63})`)

const maxSymbols = 64 // of an event

// symbolsOf returns the symbols that a payload declares, as kind:name, without repeats.
func symbolsOf(payload any) (all []string) {
	for s := range allStrings(payload) {
		for _, m := range symbol.FindAllStringSubmatch(s[:min(len(s), 256<<10)], maxSymbols) {
			x := cmp.Or(symbolKinds[m[1]], m[1]) + ":" + m[2]
			if len(all) == maxSymbols {
				return all
			}
			if !slices.Contains(all, x) {
				all = append(all, x)
			}
		}
	}
	return all
}

// symbolSearch finds events that declare a symbol. The query is kind:name, or a part of a name.
func symbolSearch(ctx context.Context, c *call) (any, error) {
	query, ok := c.text("query")
	if query = strings.TrimSpace(query); !ok || len(query) > maxName {
		return nil, badRequest("symbol_search: query required")
	}
	k, err := c.count("k", defaultK, maxK)
	hits := []kit.Object{}
	if err != nil || k == 0 || query == "" {
		return kit.Object{"hits", hits}, err
	}
	kind, name, exact := strings.Cut(query, ":")
	if !exact {
		name = kind
	}
	found, err := api.Search.Ask(ctx, c.s.cfg.Memory, &api.SearchRequest{Text: name, K: maxK, Namespace: c.ns, Within: c.ns, Quiet: true})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(found.Hits, func(a, b api.Hit) int { return cmp.Compare(b.Memory.Seq, a.Memory.Seq) })
	kept := []oplog.Seq{}
	for _, h := range found.Hits {
		if o, _ := originOf(h.Memory); len(kept) < k && slices.ContainsFunc(o.Symbols, func(s string) bool {
			_, n, _ := strings.Cut(s, ":")
			return exact && s == query || !exact && strings.Contains(n, name)
		}) {
			kept = append(kept, h.Memory.Seq)
		}
	}
	all, err := c.memoriesByID(ctx, kept)
	for _, x := range all {
		r := makeRow(x)
		o, _ := originOf(x.Memory)
		hits = append(hits,
			kit.Object{"summaryId", r.ID, "eventId", r.EventID, "ts", iso(r.TS), "tool", r.Tool, "symbols", o.Symbols, "text", r.Text})
	}
	return kit.Object{"hits", hits}, err
}

const (
	maxStatsSample = 4000 // newest summaries that stats counts by tool and session
	statsTop       = 10
)

// stats counts the newest captures by tool and by session, and the captures in a time window.
func stats(ctx context.Context, c *call) (any, error) {
	window, found, err := c.number("windowMs")
	if err != nil || found && !(window > 0 && window <= maxTimeMs) {
		return nil, badRequest("stats: windowMs must be a number > 0")
	}
	if !found {
		window = float64(time.Hour.Milliseconds())
	}
	w, err := c.counts(ctx)
	if err != nil {
		return nil, err
	}
	a, err := api.Neighbours.Ask(ctx, c.s.cfg.Memory,
		&api.NeighboursRequest{Visibility: api.Visibility{Namespace: c.ns, Private: privatePrefix, Alone: true}, Before: maxStatsSample})
	if err != nil {
		return nil, err
	}
	tools, sessions, hashes, recent, repeated := map[string]int{}, map[string]int{}, map[string]int{}, 0, 0
	for _, x := range a.Before {
		o, ok := originOf(x.Memory)
		if !ok {
			continue
		}
		tools[o.Tool]++
		sessions[o.Session]++
		if hashes[o.Hash]++; hashes[o.Hash] == 2 {
			repeated++
		}
		if float64(time.Now().UnixMilli()-int64(x.Created)/1000) <= window {
			recent++
		}
	}
	perMin := float64(recent) / max(1, window/60_000)
	eta := (*int)(nil)
	if perMin > 0 {
		eta = new(int(float64(w.Events.Raw) / perMin * 60))
	}
	return kit.Object{"counts", countsObject(w), "throughput",
		kit.Object{"eventsPerMin", perMin, "summariesPerMin", perMin, "windowMs", window},
		"backlog", kit.Object{"pending", w.Events.Raw, "etaSec", eta}, "cacheHitRate",
		float64(repeated) / float64(max(1, len(a.Before))), "looked", len(a.Before),
		"topTools", topCounts("tool", "count", tools), "topSessions", topCounts("sessionId", "events", sessions)}, nil
}

// topCounts returns the names with the highest counts.
func topCounts(name, count string, of map[string]int) []kit.Object {
	names := slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(cmp.Compare(of[b], of[a]), strings.Compare(a, b)) })
	return api.Each(names[:min(len(names), statsTop)], func(n string) kit.Object { return kit.Object{name, n, count, of[n]} })
}

// doctor reports the checks that the node makes anyway. There are no orphans, and each node repairs its own vectors.
func doctor(ctx context.Context, c *call) (any, error) {
	w, err := c.counts(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := c.pinnedRows(ctx)
	if err != nil {
		return nil, err
	}
	integrity := "ok"
	health, err := api.DeepHealth.Ask(ctx, c.s.cfg.Memory, &api.Nothing{})
	if err != nil {
		return nil, err
	}
	for _, check := range health.Checks {
		if !check.Pass && (check.Required == nil || *check.Required) {
			integrity = check.Check + ": " + check.Error
		}
	}
	return kit.Object{"integrity", integrity, "orphanSummaries", 0, "orphanEmbeddings", 0, "orphanProvenance", 0,
		"vecCardinality", kit.Object{"embeddings", w.Embedded, "vec", w.Embedded, "drift", 0}, "counts", countsObject(w),
		"pinned", len(rows)}, nil
}

// sweepExpired forgets the captures that have expired now. The leader also does so by itself. A time in the future
// counts as now.
func sweepExpired(ctx context.Context, c *call) (any, error) {
	if _, _, err := c.number("now"); err != nil {
		return nil, err
	}
	a, err := api.SweepNow.Ask(ctx, c.s.cfg.Memory, &api.SweepNowRequest{Namespace: c.ns})
	if err != nil {
		return nil, err
	}
	return kit.Object{"removed", a.Forgotten}, nil
}
