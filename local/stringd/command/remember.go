package command

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func (c *call) remember(a memoryArgs) (answer, error) {
	text := a.text
	if id, ok := a.flags["--event"]; ok {
		e, err := c.Settings.Host.Inbox(c.Agent).Get(id)
		if err != nil {
			return answer{}, eventError(err, id)
		}
		text = strings.TrimSpace(text + "\n" + e.Text)
	}
	if strings.TrimSpace(text) == "" {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /remember <text>")
	}
	meta := map[string]any{}
	if t := splitList(a.flags["--tags"]); len(t) > 0 {
		meta["tags"] = t
	}
	if kv, ok := a.flags["--meta"]; ok {
		k, v, _ := strings.Cut(kv, "=")
		meta[k] = v
	}
	n := api.Draft{Text: text, Type: cmp.Or(a.flags["--type"], "semantic"), Tier: cmp.Or(a.flags["--tier"], "longterm"),
		Source: cmp.Or(a.flags["--source"], "user"), Importance: 0.5}
	if v, ok := a.flags["--importance"]; ok {
		n.Importance, _ = strconv.ParseFloat(v, 64) // validated with the flag
	}
	if v, ok := a.flags["--at"]; ok {
		n.Created.Time, _ = parseTime(v)
	}
	return c.store(a, n, meta, a.flags["--key"], "Remembered")
}

// halfLifeHours is the half-life of an agent's memories, in hours.
const halfLifeHours = 168

// store writes a memory to the namespace of the command, and answers with its id and log index.
func (c *call) store(a memoryArgs, n api.Draft, meta map[string]any, key, verb string) (answer, error) {
	if len(n.Text) > maxText {
		return answer{}, lang.Errorf(lang.InvalidPayload, "text of %d bytes is over %d", len(n.Text), maxText)
	}
	n.Namespace = cmp.Or(a.ns, "default")
	if len(meta) > 0 {
		var err error
		if n.Metadata, err = json.Marshal(meta); err != nil {
			return answer{}, err
		}
	}
	n.Key, n.HalfLife, n.Certainty = key, halfLifeHours, 1
	s, err := write(c, api.Remember, &api.RememberRequest{Draft: n})
	if err != nil {
		return answer{}, err
	}
	c.Vars.Set("last_memory", s.RID)
	if s.Replayed {
		verb = "Already remembered"
	}
	text := fmt.Sprintf("id: %s\nns: %s\ntier: %s\nindex: %d", s.RID, n.Namespace, n.Tier, s.Index)
	fields := map[string]any{"id": s.RID, "ns": n.Namespace, "tier": n.Tier, "index": uint64(s.Index), "replayed": s.Replayed}
	if len(s.Redacted) > 0 {
		text += "\nredacted: " + strings.Join(s.Redacted, ", ")
		fields["redacted"] = s.Redacted
	}
	return answer{lang.Titled(verb+" "+s.RID, text), fields}, nil
}

// capture stores the output of a tool. The node removes secrets.
func (c *call) capture(a memoryArgs) (answer, error) {
	tool, body, _ := strings.Cut(a.text, "\n")
	tool = strings.TrimSpace(tool)
	if tool == "" || strings.TrimSpace(body) == "" {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /capture <tool> with a JSON body on the next line")
	}
	if !json.Valid([]byte(body)) {
		return answer{}, lang.Errorf(lang.InvalidPayload, "the body is not valid JSON")
	}
	meta := map[string]any{"tool": tool}
	if s, ok := a.flags["--session"]; ok {
		meta["session"] = s
	}
	return c.store(a, api.Draft{Text: tool + " " + strings.TrimSpace(body), Type: "capture", Tier: "working", Importance: 0.3,
		Source: cmp.Or(a.flags["--source"], tool)}, meta, "", "Captured")
}

func (c *call) forget(a memoryArgs) (answer, error) {
	if q, ok := a.flags["--query"]; ok {
		if a.text != "" { // the value of a flag is one word, so append the other words
			q += " " + a.text
		}
		return c.forgetFound(a, q)
	}
	words := strings.Fields(a.text)
	if len(words) == 0 {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /forget <id|@mN>...")
	}
	ids := make([]string, len(words))
	for i, w := range words {
		id, err := c.resolve(w)
		if err != nil {
			return answer{}, err
		}
		ids[i] = id
	}
	forgotten, missing, err := c.forgetAll(ids)
	if err != nil {
		return answer{}, err
	}
	if len(missing) > 0 {
		return answer{}, lang.Errorf(lang.NotFound, "%s",
			strings.TrimPrefix(forgotLines(forgotten)+"\nMemory not found: "+strings.Join(missing, ", "), "\n"))
	}
	return answer{forgotLines(forgotten), map[string]any{"forgotten": forgotten}}, nil
}

func forgotLines(ids []string) string {
	return strings.Join(api.Each(ids, func(id string) string { return "Forgot " + id }), "\n")
}

// forgetAll forgets memories in batches.
func (c *call) forgetAll(ids []string) (forgotten, missing []string, err error) {
	for len(ids) > 0 {
		n := min(len(ids), maxBatch)
		done, err := write(c, api.ForgetMany, &api.ForgetManyRequest{RIDs: ids[:n]})
		if err != nil {
			return forgotten, missing, err
		}
		for i, found := range done.Found {
			if found {
				forgotten = append(forgotten, ids[i])
			} else {
				missing = append(missing, ids[i])
			}
		}
		ids = ids[n:]
	}
	return forgotten, missing, nil
}

func (c *call) forgetFound(a memoryArgs, q string) (answer, error) {
	found := query(a, q, maxK)
	found.Quiet = true // a search for memories to forget must not reinforce them
	result, err := api.Search.Ask(c.ctx, c.Settings.Memory, &found)
	if err != nil {
		return answer{}, err
	}
	// Forget only memories that contain a word of the query, because similarity is not enough.
	hits := slices.DeleteFunc(result.Hits, func(h api.Hit) bool { return !slices.Contains(h.Why, "keyword_match") })
	var ids []string // nil is null in JSON
	for _, h := range hits {
		ids = append(ids, h.Memory.RID)
	}
	if !a.flags.Has("--yes") {
		found := api.Each(hits, func(h api.Hit) string { return headline(h.Memory) + "\n" + indented(h.Memory, false) })
		return answer{lang.Titled(fmt.Sprintf("Would forget %d", len(ids)),
			strings.Join(append(found, "Nothing was changed. Add --yes to forget them."), "\n")),
			map[string]any{"would_forget": ids}}, nil
	}
	forgotten, _, err := c.forgetAll(ids)
	return answer{cmp.Or(forgotLines(forgotten), "(no memories)"), map[string]any{"forgotten": forgotten}}, err
}

// purge forgets memories that were created before a time.
func (c *call) purge(a memoryArgs) (answer, error) {
	if !a.flags.Has("--before") {
		return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /purge --before <time> [--tier t] --yes")
	}
	found, err := api.Recent.Ask(c.ctx, c.Settings.Memory, &api.RecentRequest{Namespace: a.ns, Tier: a.flags["--tier"],
		Before: a.when("--before"), Limit: maxScan + 1, Bare: true})
	if err != nil {
		return answer{}, err
	}
	ids, more := api.Each(found.Memories, func(m *oplog.Memory) string { return m.RID }), ""
	if len(ids) > maxScan {
		ids, more = ids[:maxScan], "\nThere are more: purge again afterwards."
	}
	if !a.flags.Has("--yes") {
		return answer{fmt.Sprintf("Would purge %d. Nothing was changed. Add --yes to forget them.%s", len(ids), more),
			map[string]any{"would_purge": len(ids), "more": more != ""}}, nil
	}
	forgotten, _, err := c.forgetAll(ids)
	return answer{fmt.Sprintf("Purged %d%s", len(forgotten), more), map[string]any{"purged": len(forgotten), "more": more != ""}}, err
}

// episode groups the memories that are stored in the agent's namespace between start and end.
func (c *call) episode(a memoryArgs) (answer, error) {
	verb, rest, _ := strings.Cut(a.text, " ")
	switch verb {
	case "start":
		session, err := write(c, api.StartSession,
			&api.StartSessionRequest{Namespace: cmp.Or(a.ns, "default"), Client: "string/" + c.Agent.ID})
		if err != nil {
			return answer{}, err
		}
		c.Vars.Set("_episode", session.ID)
		return answer{"Episode started " + session.ID, map[string]any{"id": session.ID}}, nil
	case "end":
		id := c.Vars.Values["_episode"]
		if id == "" {
			return answer{}, lang.Errorf(lang.NotFound, "No episode was started in this topic.")
		}
		ended, err := write(c, api.EndSession, &api.EndSessionRequest{ID: id, Summary: strings.TrimSpace(rest)})
		if err != nil {
			return answer{}, err
		}
		c.Vars.Del("_episode")
		return answer{fmt.Sprintf("Episode ended %s (%s)", id, api.Many(int(ended.Memories), "memory", "memories")),
			map[string]any{"id": id, "memories": ended.Memories}}, nil
	case "list":
		id := c.Vars.Values["_episode"]
		return answer{lang.Titled("Episodes", cmp.Or(id, "(none started in this topic)")), map[string]any{"active": id}}, nil
	}
	return answer{}, lang.Errorf(lang.InvalidPayload, "Usage: /episode start|end|list")
}
