package command

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// memoryPage makes the document of a mem: URI. Each memory has a block and a shortcut.
func (c *call) memoryPage(uri string) (*state.Page, error) {
	uri, block := state.SplitBlock(uri)
	rest := strings.TrimPrefix(uri, "mem:")
	kind, arg, _ := strings.Cut(rest, "/")
	var text string
	var err error
	switch {
	case rest == "recent":
		var ms []*oplog.Memory
		var note string
		ms, note, err = c.newest(api.RecentRequest{Limit: pageRows})
		text = c.memoryDoc("Recent memories", ms, note)
	case rest == "cluster":
		var st *api.ClusterStatus
		if st, err = api.Cluster.Ask(c.ctx, c.Settings.Memory, &api.Nothing{}); err == nil {
			text = frontMatter("Cluster") + strings.TrimPrefix(clusterView(st).text, lang.Titled("Cluster", ""))
		}
	case kind == "timeline":
		text, err = c.timelineDoc(arg)
	case strings.HasPrefix(rest, "search?"):
		query, _ := url.ParseQuery(strings.TrimPrefix(rest, "search?")) // a malformed query is read as far as possible
		text, err = c.searchDoc(query.Get("q"))
	case rest == "":
		err = lang.Errorf(lang.InvalidTarget, "Usage: /open mem:recent | mem:<id> | mem:timeline/<id> | mem:search?q=... | mem:cluster")
	default:
		var found *api.LookedUp
		if found, err = c.lookUp(rest, 0); err == nil {
			rid := found.Memory.RID
			text = frontMatter("Memory "+rid) + "[@timeline Timeline](mem:timeline/" + rid + ")\n\n<!-- #m1 -->\n" + quoteLines(describeMemory(found.Memory, found.Edges)) + "\n<!-- /m1 -->"
		}
	}
	if err != nil {
		return nil, err
	}
	p := &state.Page{URI: uri, Block: block, Doc: sfmd.Parse(text)}
	return p, c.CheckBlock(p)
}

func frontMatter(title string) string { return fmt.Sprintf("---\ntitle: %q\n---\n", title) }

// quoteLines quotes the text of a memory line by line. The text is not trusted, so no line may be parsed as a mark, a
// directive or an action.
func quoteLines(text string) string {
	return "> " + strings.ReplaceAll(strings.ReplaceAll(text, "\r", ""), "\n", "\n> ")
}

// pageRows is the number of memories on a page.
const pageRows = 20

// memoryDoc lists memories, followed by a note about what was left out.
func (c *call) memoryDoc(title string, ms []*oplog.Memory, note string) string {
	var b strings.Builder
	b.WriteString(frontMatter(title))
	for i, m := range ms {
		id := c.addShortcut(i, m)
		rest := strings.TrimPrefix(headline(m), m.RID)
		fmt.Fprintf(&b, "<!-- #%s -->\n[@%s %s](mem:%s)%s\n\n%s\n<!-- /%s -->\n\n", id, id, m.RID, m.RID, rest,
			quoteLines(api.Quote(m.Source, m.Namespace, m.Text)), id)
	}
	if len(ms) == 0 {
		b.WriteString("(no memories)\n")
	}
	b.WriteString(note)
	return b.String()
}

func (c *call) timelineDoc(id string) (string, error) {
	found, err := c.lookUp(id, 10)
	if err != nil {
		return "", err
	}
	return c.memoryDoc("Timeline around "+found.Memory.RID, slices.Concat(found.Before, []*oplog.Memory{found.Memory}, found.After), ""), nil
}

func (c *call) searchDoc(q string) (string, error) {
	if strings.TrimSpace(q) == "" {
		return "", lang.Errorf(lang.InvalidTarget, "Usage: /open mem:search?q=<question>")
	}
	found, err := api.Search.Ask(c.ctx, c.Settings.Memory, &api.SearchRequest{Text: q, K: pageRows, Now: time.Now()})
	if err != nil {
		return "", err
	}
	note := ""
	if more := found.Matched - len(found.Hits); more > 0 {
		note = fmt.Sprintf("... (%d more match: /recall -k returns up to %d)", more, maxK)
	}
	return c.memoryDoc("Memories of "+oneLine(q, 60), api.Each(found.Hits, func(h api.Hit) *oplog.Memory { return h.Memory }), note), nil
}
