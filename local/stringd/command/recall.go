package command

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// query makes a search request from the flags.
func query(a memoryArgs, text string, k int) api.SearchRequest {
	q := api.SearchRequest{Text: text, K: k, Namespace: a.ns, Tier: a.flags["--tier"], Now: time.Now(),
		Quiet: a.flags.Has("--skip-reinforce")}
	q.Types, q.Since, q.Until = splitList(a.flags["--type"]), a.when("--since"), a.when("--until")
	return q
}

// when returns the time of a flag, or 0 without the flag. The flag was validated before.
func (a memoryArgs) when(name string) oplog.Time {
	at, err := parseTime(a.flags[name])
	if err != nil {
		return 0
	}
	return oplog.At(at)
}

func (c *call) recall(a memoryArgs) (answer, error) {
	if strings.TrimSpace(a.text) == "" {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /recall <query>")
	}
	k, budget := a.flags.Int("-k", defaultK), a.flags.Int("--budget", defaultBudget)
	hits, matched, below, err := c.search(a, k)
	if err != nil {
		return answer{}, err
	}
	at, err := c.nodeStatus()
	if err != nil {
		return answer{}, err
	}
	records := make([]memoryJSON, len(hits))
	entries := make([]string, len(hits))
	for i, h := range hits {
		entries[i] = fmt.Sprintf("[%.2f][@%s] %s\n%s", h.Score, c.addShortcut(i, h.Memory), headline(h.Memory),
			indented(h.Memory, a.flags.Has("--full")))
		if a.flags.Has("--explain") {
			entries[i] += "\n    why: " + strings.Join(h.Why, ", ")
		}
		records[i] = toJSON(h.Memory)
		records[i].Score, records[i].Why = h.Score, h.Why
	}
	head := fmt.Sprintf("Recalled %d of %d for \"%s\" (index %d, %s)", len(hits), matched, oneLine(a.text, 200), at.Applied, at.Role)
	if below > 0 {
		head += fmt.Sprintf("; %d more score less than %s", below, a.flags["--min-score"])
	}
	return answer{lang.Titled(head, fitBudget(entries, budget)),
		map[string]any{"query": a.text, "matched": matched, "below_min_score": below, "index": at.Applied, "role": at.Role,
			"memories": records}}, nil
}

// awaitFresh waits until this node has the state that the flags require.
func (c *call) awaitFresh(fl lang.Flags) error {
	after, _ := strconv.ParseUint(fl["--after"], 10, 64) // checked with the flag
	leader := fl["--consistency"] == "leader"
	if after == 0 && !leader {
		return nil
	}
	err := c.Settings.Memory.Await(c.ctx, api.Fresh{MinIndex: field.Token(after)})
	if err == nil && leader {
		err = c.Settings.Memory.Await(c.ctx, api.Fresh{Consistency: "linearizable"})
	}
	if err != nil && !leader {
		return lang.Errorf(lang.Timeout, "%v", err)
	}
	return err
}

// search searches the index and filters the hits by tags. below is the number of matches with a score under
// --min-score.
func (c *call) search(a memoryArgs, k int) (hits []api.Hit, matched, below int, err error) {
	want := splitList(a.flags["--tags"])
	q := query(a, a.text, k)
	if q.Since != 0 && q.Until != 0 && q.Since > q.Until {
		return nil, 0, 0, lang.Errorf(lang.InvalidPayload, "--since is after --until: want two dates in order")
	}
	if len(want) > 0 {
		q.K = min(api.MaxHits, k*20)
	}
	q.MinScore, _ = strconv.ParseFloat(cmp.Or(a.flags["--min-score"], "0"), 64) // checked with the flag
	q.Pick = func(hits []api.Hit) []api.Hit {
		hits = slices.DeleteFunc(hits, func(h api.Hit) bool {
			have := tagsOf(h.Memory)
			return slices.ContainsFunc(want, func(t string) bool { return !slices.Contains(have, t) })
		})
		return hits[:min(k, len(hits))]
	}
	found, err := api.Search.Ask(c.ctx, c.Settings.Memory, &q)
	if err != nil {
		return nil, 0, 0, err
	}
	return found.Hits, found.Matched - found.Below, found.Below, nil
}

// fitBudget joins as many entries as fit a budget of characters, but at least the first one.
func fitBudget(entries []string, budget int) string {
	if len(entries) == 0 {
		return "(no memories)"
	}
	n, used := 0, 0
	for ; n < len(entries); n++ {
		if used += utf8.RuneCountInString(entries[n]) + 1; used > budget && n > 0 {
			break
		}
	}
	out := strings.Join(entries[:n], "\n")
	if r := []rune(out); len(r) > budget {
		out = string(r[:budget]) + "..."
	}
	if cut := len(entries) - n; cut > 0 {
		out += fmt.Sprintf("\n... (%d more cut by the budget of %d characters)", cut, budget)
	}
	return out
}

// oneLine returns a preview: white space collapsed, cut to n characters.
func oneLine(s string, n int) string {
	return lang.Truncate(strings.Join(strings.Fields(s), " "), n)
}

func (c *call) showMemory(a memoryArgs) (answer, error) {
	words := strings.Fields(a.text)
	if len(words) == 0 {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /memory <id|@mN>...")
	}
	var texts []string
	var records []memoryJSON
	for _, w := range words {
		id, err := c.resolve(w)
		if err != nil {
			return answer{}, err
		}
		found, err := c.lookUp(id, 0)
		if err != nil {
			return answer{}, err
		}
		texts = append(texts, lang.Titled("Memory "+found.Memory.RID, describeMemory(found.Memory, found.Edges)))
		records = append(records, toJSON(found.Memory))
	}
	return answer{strings.Join(texts, "\n\n"), records}, nil
}

// lookUp reads a live memory, the relations of the entities that it mentions, and its neighbours in its namespace.
func (c *call) lookUp(id string, window int) (*api.LookedUp, error) {
	a, err := api.LookUp.Ask(c.ctx, c.Settings.Memory, &api.LookUpRequest{RID: id, Window: window, Look: maxScan, Edges: 20})
	if err == nil && a.Memory == nil {
		err = lang.Errorf(lang.NotFound, "Memory not found: %s", id)
	}
	return a, err
}

func describeMemory(m *oplog.Memory, edges []oplog.Edge) string {
	var b strings.Builder
	fmt.Fprintf(&b, "id: %s\nns: %s\ntype: %s\ntier: %s\nimportance: %g\nsource: %s\ncreated: %s\nupdated: %s\nstatus: %s\n",
		m.RID, api.OneLine(m.Namespace), api.OneLine(m.Type), tierOf(m), m.Importance, api.OneLine(m.Source),
		m.Created.Time().Format(time.RFC3339), m.Updated.Time().Format(time.RFC3339), m.Status)
	if t := tagsOf(m); len(t) > 0 {
		fmt.Fprintf(&b, "tags: %s\n", api.OneLine(strings.Join(t, ", ")))
	}
	if len(m.Metadata) > 0 {
		fmt.Fprintf(&b, "metadata: %s\n", api.OneLine(string(m.Metadata)))
	}
	b.WriteString("\n" + api.Quote(m.Source, m.Namespace, m.Text) + "\n\nedges:")
	for _, e := range edges {
		fmt.Fprintf(&b, "\n  %s", edgeLine(e))
	}
	if len(edges) == 0 {
		b.WriteString(" (none)")
	}
	return b.String()
}

// newest reads the newest memories of a namespace. note describes the omitted memories; it is empty if there are
// none.
func (c *call) newest(q api.RecentRequest) (ms []*oplog.Memory, note string, err error) {
	n := q.Limit
	q.Limit, q.Look = n+1, maxScan
	a, err := api.Recent.Ask(c.ctx, c.Settings.Memory, &q)
	switch {
	case err != nil:
		return nil, "", err
	case len(a.Memories) > n:
		return a.Memories[:n], fmt.Sprintf("... (there are older ones: /recent -n returns up to %d)", maxK), nil
	case a.Cut:
		note = fmt.Sprintf("... (of the newest %d memories; older ones were not looked at)", maxScan)
	}
	return a.Memories, note, nil
}

func (c *call) recent(a memoryArgs) (answer, error) {
	found, note, err := c.newest(api.RecentRequest{Namespace: a.ns, Tier: a.flags["--tier"], Limit: a.flags.Int("-n", defaultK)})
	if err != nil {
		return answer{}, err
	}
	var entries []string
	for i, m := range found {
		entries = append(entries, fmt.Sprintf("[@%s] %s\n%s", c.addShortcut(i, m), headline(m), indented(m, false)))
	}
	text := strings.TrimSuffix(fitBudget(entries, defaultBudget)+"\n"+note, "\n")
	return answer{lang.Titled(fmt.Sprintf("Recent %d", len(found)), text), api.Each(found, toJSON)}, nil
}

func (c *call) timeline(a memoryArgs) (answer, error) {
	named := strings.TrimSpace(a.text)
	if named == "" {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /timeline <id|@mN>")
	}
	id, err := c.resolve(named)
	if err != nil {
		return answer{}, err
	}
	found, err := c.lookUp(id, a.flags.Int("--window", 10))
	if err != nil {
		return answer{}, err
	}
	before, m, after := found.Before, found.Memory, found.After
	line := func(mark string, m *oplog.Memory) string {
		return fmt.Sprintf("%s%s · %s · %s\n%s", mark, m.RID, m.Created.Time().Format(time.RFC3339), tierOf(m), indented(m, false))
	}
	plain := func(m *oplog.Memory) string { return line("  ", m) }
	rows := slices.Concat([]string{"before"}, api.Each(before, plain), []string{line("> near ", m), "after"}, api.Each(after, plain))
	return answer{lang.Titled("Timeline around "+m.RID, strings.Join(rows, "\n")),
		map[string]any{"near": toJSON(m), "before": api.Each(before, toJSON), "after": api.Each(after, toJSON)}}, nil
}
