package node

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// The console is plain modules, served as they are written: nothing has to be built, and nothing comes from elsewhere.
//
//go:embed console
var consoleFiles embed.FS

// consolePolicy lets a page load what this node serves and nothing more; no script or style is inline.
const consolePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// console serves the page at / and what it loads below /console/.
func console() http.Handler {
	files := http.FileServerFS(consoleFiles)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", consolePolicy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		if r.URL.Path != "/" {
			files.ServeHTTP(w, r)
			return
		}
		page, err := fs.ReadFile(consoleFiles, "console/index.html")
		if err != nil {
			http.Error(w, "the console is not part of this build", http.StatusInternalServerError)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // a client that went away is no failure of ours
	})
}

var consoleRoutes = []route{
	{name: "timeline", method: "GET", path: "/v1/memory/{rid}/timeline", scope: Read, handle: httpTimeline, summary: "What was stored shortly before and after a memory", query: "limit:integer[0..]", result: "memories:[]Memory!"},
	{name: "entities", method: "GET", path: "/v1/entities", scope: Read, handle: httpEntities, summary: "Names that memories, relations and claims mention", query: "limit:integer[0..]", result: "entities:[]Entity!"},
	{name: "recall_compare", method: "POST", path: "/v1/recall/compare", scope: Read, handle: httpCompare, summary: "The same question to every node: equal indexes give equal answers", body: questionFields + " explain:boolean~", result: "nodes:[]Compared! equal:boolean!"},
}

func httpTimeline(g *gateway, q *request) (any, error) {
	list, err := g.s.Timeline(q.r.Context(), q.c, q.r.PathValue("rid"), min(max(q.count("limit", 5), 1), 100))
	if err != nil {
		return nil, named(err, "memory_not_found")
	}
	return map[string]any{"memories": rows(list)}, nil
}

func httpEntities(g *gateway, q *request) (any, error) {
	limit := min(max(q.count("limit", 100), 1), 1000)
	list := []any{}
	err := g.s.read(q.r.Context(), q.c, Stale, func(v *oplog.View) error {
		v.Entities(q.c.DB, func(e oplog.Entity) bool {
			list = append(list, map[string]any{"name": e.Name, "type": e.Type, "mentions": e.Mentions, "last_seen": e.Last.Seconds()})
			return len(list) < limit
		})
		return nil
	})
	return map[string]any{"entities": list}, err
}

// nodeAnswer is what one node said to a question.
type nodeAnswer struct {
	NodeID uint32      `json:"node_id"`
	Index  oplog.Index `json:"index,omitempty"`
	Total  int         `json:"total"`
	Digest string      `json:"digest,omitempty"` // of the ids and scores, in order
	Error  string      `json:"error,omitempty"`
}

// compareTime bounds how long a node is waited for.
const compareTime = 3 * time.Second

// httpCompare asks the gateways of all nodes.
func httpCompare(g *gateway, q *request) (any, error) {
	if _, err := httpQuery(q.body); err != nil {
		return nil, err
	}
	body, err := json.Marshal(q.body)
	if err != nil {
		return nil, err
	}
	path := "/v1/recall?" + url.Values{"database": {q.c.Database}}.Encode()
	var mu sync.Mutex
	answers := []nodeAnswer{}
	g.s.eachGateway(q, http.MethodPost, path, body, func(n oplog.NodeInfo, answer []byte, err error) {
		a := nodeAnswer{NodeID: n.ID}
		if err != nil || a.take(answer) != nil {
			a.Error = "did not answer"
		}
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, a)
	})
	slices.SortFunc(answers, func(a, b nodeAnswer) int { return cmp.Compare(a.NodeID, b.NodeID) })
	equal := len(answers) > 0
	for _, a := range answers {
		equal = equal && a.Error == "" && a.Digest == answers[0].Digest
	}
	return map[string]any{"nodes": answers, "equal": equal}, nil
}

// take reads a node's answer.
func (a *nodeAnswer) take(answer []byte) error {
	var got struct {
		Index   oplog.Index `json:"index"`
		Total   int         `json:"total"`
		Results []struct {
			RID   string  `json:"rid"`
			Score float64 `json:"score"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &got); err != nil {
		return err
	}
	h := sha256.New()
	for _, r := range got.Results {
		fmt.Fprintf(h, "%s %.6f\n", r.RID, r.Score) // scores decay between two clocks' readings: what is shown is what is compared
	}
	a.Index, a.Total, a.Digest = got.Index, got.Total, hex.EncodeToString(h.Sum(nil))[:12]
	return nil
}
