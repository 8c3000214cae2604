package sift

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/large"
)

func TestCaptureValidates(t *testing.T) {
	d := start(t, nil)
	for in, want := range map[string]string{
		`{"kind":"capture","tool":"Read","payload":1}`:                                                    "capture: sessionId required",
		`{"kind":"capture","sessionId":"","tool":"Read","payload":1}`:                                     "capture: sessionId required",
		`{"kind":"capture","sessionId":5,"tool":"Read","payload":1}`:                                      "capture: sessionId required",
		`{"kind":"capture","sessionId":"s","payload":1}`:                                                  "capture: tool required",
		`{"kind":"capture","sessionId":"s","tool":"","payload":1}`:                                        "capture: tool required",
		`{"kind":"capture","sessionId":"s","tool":"Read"}`:                                                "capture: payload required",
		`{"kind":"capture","sessionId":"s","tool":"Read","payload":1,"ts":-1}`:                            "capture: ts must be a finite number >= 0",
		`{"kind":"capture","sessionId":"s","tool":"Read","payload":1,"ts":"x"}`:                           "capture: ts must be a finite number >= 0",
		`{"kind":"capture","sessionId":"s","tool":"Read","payload":1,"ts":1e400}`:                         "capture: ts must be a finite number >= 0",
		`{"kind":"capture","sessionId":"s","tool":"Read","payload":1,"ts":8640000000000001}`:              "capture: ts must be a finite number >= 0",
		`{"kind":"capture","sessionId":"` + strings.Repeat("x", 600) + `","tool":"R","payload":1}`:        "capture: sessionId, tool or source is too long",
		`{"kind":"capture","sessionId":"` + strings.Repeat("x", large.From) + `","tool":"R","payload":1}`: "capture: sessionId, tool or source is too long",
		`{"kind":"search"}`:                              "search: query required",
		`{"kind":"search","query":5}`:                    "search: query required",
		`{"kind":"search","query":"x","k":"y"}`:          "search: k must be a number",
		`{"kind":"status","min_index":1099511627776}`:    "this node is at log index 1 and has not reached 1099511627776",
		`{"kind":"search","query":"x","min_index":-1}`:   "search: min_index: want a position in the log, as answers have it, got -1",
		`{"kind":"search","query":"x","consistency":1}`:  "search: consistency: want one of stale, linearizable, got 1",
		`{"kind":"timeline"}`:                            "timeline: nearId must be a number",
		`{"kind":"timeline","nearId":"1"}`:               "timeline: nearId must be a number",
		`{"kind":"timeline","nearId":1,"window":[]}`:     "timeline: window must be a number",
		`{"kind":"get"}`:                                 "get: ids must be an array of integers",
		`{"kind":"get","ids":1}`:                         "get: ids must be an array of integers",
		`{"kind":"get","ids":[1.5]}`:                     "get: ids must be an array of integers",
		`{"kind":"get","ids":["1"]}`:                     "get: ids must be an array of integers",
		`{"kind":"get","ids":[null]}`:                    "get: ids must be an array of integers",
		`{"kind":"backfill","source":"github"}`:          "unsupported backfill source: github",
		`{"kind":"import_home"}`:                         "import_home: home required",
		`{"kind":"ghp_` + strings.Repeat("a", 36) + `"}`: "unknown request kind: [REDACTED:github]",
	} {
		if got := d.refused(in); got != want {
			t.Errorf("%.100s: %q, want %q", in, got, want)
		}
	}
	if n := d.ask(`{"kind":"status"}`)["counts"].(map[string]any)["events"]; n != 0.0 {
		t.Errorf("%v events", n)
	}
}

// TestSameContentIsOneEvent: in one session, the source, the order of keys and a secret in the payload make no
// difference.
func TestSameContentIsOneEvent(t *testing.T) {
	d := start(t, nil)
	first := d.ask(`{"kind":"capture","sessionId":"a","tool":"Bash","payload":{"x":1,"y":"password=one"}}`)
	d.ask(`{"kind":"capture","sessionId":"a","tool":"Bash","payload":{"other":1}}`)
	again := d.ask(`{"kind":"capture","sessionId":"a","tool":"Bash","payload":{"y":"password=two","_source":"z","x":1},"source":"replay","ts":5}`)
	if again["id"] != first["id"] || again["summaryId"] != first["summaryId"] || again["duplicate"] != true || first["duplicate"] != false {
		t.Errorf("%v, then %v", first, again)
	}
	if other := d.ask(`{"kind":"capture","sessionId":"b","tool":"Bash","payload":{"x":1,"y":"password=one"}}`); other["id"] != 3.0 {
		t.Errorf("another session: %v", other)
	}
	for _, p := range []string{`null`, `5`, `"text"`, `[]`, `true`} {
		if r := d.ask(`{"kind":"capture","sessionId":"c","tool":"Odd","payload":` + p + `}`); r["duplicate"] != false {
			t.Errorf("%s: %v", p, r)
		}
	}
	want := map[string]any{"events": 8.0, "raw": 0.0, "summarized": 8.0, "skipped": 0.0, "summaries": 8.0, "embeddings": 0.0,
		"superseded": 0.0, "sessions": 3.0}
	if got := d.ask(`{"kind":"status"}`)["counts"]; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// TestStamp: the content of an event is the JSON of its payload with sorted names, and its hash is that of the
// content without the source. Earlier versions wrote the expected values. A different hash would store the same event
// twice.
func TestStamp(t *testing.T) {
	for _, payload := range []string{`{}`, `5`, `[1.50,null]`, `{"b":[1,{"d":"<&>","c":1e400}],"a":"é","_source":"z"}`,
		`{"_sourca":1,"_sourcf":2,"A":3,"z":"\u2028","a\"\n":0}`} {
		v, err := large.JSON([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		o, err := toolOutput{}.newObservation(api.Said{Session: "s", Tool: "T", Source: "hook", Payload: v})
		if err != nil {
			t.Fatal(err)
		}
		all, ok := v.(map[string]any)
		if !ok {
			all = map[string]any{"value": v}
		}
		delete(all, "_source")
		content, err := kit.JSON(all)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(content); !bytes.Equal(o.hash, sum[:]) {
			t.Errorf("%s: the hash is not that of %s", payload, content)
		}
		all["_source"] = "hook"
		if stamped, err := kit.JSON(all); err != nil || !bytes.Equal(o.payloadJSON, stamped) {
			t.Errorf("%s: stamped %s, want %s, %v", payload, o.payloadJSON, stamped, err)
		}
	}
}

func TestSummaries(t *testing.T) {
	d := start(t, nil)
	for in, want := range map[string]string{
		`"Read","payload":{"tool_input":{"file_path":"/a/b.go"},"tool_response":"// c\n\n     7→func Open(x int) error {\n"}`: "Read /a/b.go: 7→func Open(x int) error {",
		`"Read","payload":{"tool_input":{"file_path":"/etc/hosts"},"tool_response":null}`:                                     "Read /etc/hosts",
		`"Write","payload":{"tool_input":{"file_path":"x.py","content":"def one():\n  pass\nclass Two:\n"}}`:                  "Wrote x.py: one, Two",
		`"Edit","payload":{"tool_input":{"file_path":"x.go","old_string":"a := oldName()","new_string":"a := newName()"}}`:    "Edited x.go: oldName → newName",
		`"Bash","payload":{"tool_input":{"command":"make\ntest"},"tool_response":{"stdout":"ok\nerror: no rule\ndone"}}`:      "Ran make test: error: no rule",
		`"Bash","payload":{"tool_input":{"command":"ls"},"tool_response":"a\nb\nlast"}`:                                       "Ran ls: last",
		`"Bash","payload":{"command":"note","output":"the pangolin service answers on port 8443"}`:                            "Ran note: the pangolin service answers on port 8443",
		`"Read","payload":{"file_path":"/etc/hosts","content":"127.0.0.1 heron"}`:                                             "Read /etc/hosts: 127.0.0.1 heron",
		`"Grep","payload":{"tool_input":{"pattern":"TODO","path":"src"},"tool_response":"src/a.go:1\nsrc/b.go:2"}`:            "TODO in src: 2 matches, src/a.go:1",
		`"Glob","payload":{"tool_input":{"pattern":"*.md"},"tool_response":[]}`:                                               "*.md in .: 0 matches",
		`"Notification","payload":{"message":"needs  your\npermission","urgency":"high"}`:                                     "needs your permission",
		`"Odd","payload":{"k":"short","z":["a much longer text"]}`:                                                            "Odd: a much longer text; short",
		`"Odd","payload":{"n":5}`:                     "Odd call",
		`"Bash","payload":null`:                       "Bash call",
		`"Read","payload":{"file_path":"/etc/hosts"}`: "Read /etc/hosts",
		`"Bash","payload":{"tool_input":{"command":"` + strings.Repeat("x", 500) + `"}}`: "Ran " + strings.Repeat("x", 159) + "…",
	} {
		r := d.ask(`{"kind":"capture","sessionId":"s","tool":` + in + `}`)
		row := d.ask(fmt.Sprintf(`{"kind":"get","ids":[%v]}`, r["summaryId"]))["summaries"].([]any)[0].(map[string]any)
		if row["text"] != want {
			t.Errorf("%.80s: %q, want %q", in, row["text"], want)
		}
		if n := utf8.RuneCountInString(row["text"].(string)); n > 240 || row["model"] != "extractive-v1" ||
			row["tokensIn"] != r["tokensEst"] ||
			row["eventId"] != r["id"] || row["sessionId"] != "s" || len(row["promptHash"].(string)) != 64 {
			t.Errorf("%.80s: %v", in, row)
		}
	}
}

func note(session string, ts int64, text string) string {
	return fmt.Sprintf(`{"kind":"capture","sessionId":%q,"tool":"Notification","payload":{"message":%q},"ts":%d}`, session, text, ts)
}

func ids(rows any) (out []int) {
	for _, r := range rows.([]any) {
		out = append(out, int(r.(map[string]any)["id"].(float64)))
	}
	return out
}

// TestTimeline: rows are counted by position. Ids of other workspaces leave no gaps, and memories of other protocols
// are shown.
func TestTimeline(t *testing.T) {
	d := start(t, nil)
	other := d.serve(shortDir(t))
	for i := range 12 { // odd ids in this workspace, even ids in the other
		d.ask(note("s", int64(i)*1000, fmt.Sprint("here ", i)))
		d.askOn(other, note("s", int64(i)*1000, fmt.Sprint("there ", i)))
	}
	foreign := int(d.store.remember(t, "default", "of another protocol")) // 25
	for _, c := range []struct {
		in            string
		before, after []int
		near          any
	}{
		{`"nearId":9,"window":2`, []int{5, 7}, []int{11, 13}, 9.0},
		{`"nearId":9,"window":0`, nil, nil, 9.0},
		{`"nearId":9,"window":-3`, nil, nil, 9.0},
		{`"nearId":1,"window":3`, nil, []int{3, 5, 7}, 1.0},
		{`"nearId":23,"window":3`, []int{17, 19, 21}, []int{foreign}, 23.0},
		{`"nearId":25,"window":2`, []int{21, 23}, nil, 25.0},
		{`"nearId":8,"window":2`, []int{5, 7}, []int{9, 11}, nil}, // the id belongs to the other workspace
		{`"nearId":8.5,"window":1`, []int{7}, []int{9}, nil},
		{`"nearId":-5,"window":1`, nil, []int{1}, nil},
		{`"nearId":0,"window":1`, nil, []int{1}, nil},
		{`"nearId":1e300,"window":1`, []int{foreign}, nil, nil},
		{`"nearId":13`, []int{1, 3, 5, 7, 9, 11}, []int{15, 17, 19, 21, 23, foreign}, 13.0},
	} {
		got := d.ask(`{"kind":"timeline",` + c.in + `}`)
		var near any
		if m, ok := got["near"].(map[string]any); ok {
			near = m["id"]
		}
		all := slices.Clone(c.before)
		if near != nil {
			all = append(all, int(near.(float64)))
		}
		all = append(all, c.after...)
		if !slices.Equal(ids(got["before"]), c.before) || !slices.Equal(ids(got["after"]), c.after) || near != c.near ||
			!slices.Equal(ids(got["rows"]), all) {
			t.Errorf("%s: before %v near %v after %v rows %v", c.in, ids(got["before"]), near, ids(got["after"]), ids(got["rows"]))
		}
	}
	if got := ids(d.ask(`{"kind":"get","ids":[9,2,9,999,25,-1,0,1e30,7]}`)["rows"]); !slices.Equal(got, []int{7, 9, 25}) {
		t.Errorf("get: %v", got)
	}
	if got := ids(d.ask(`{"kind":"get","ids":[]}`)["summaries"]); got != nil {
		t.Errorf("get nothing: %v", got)
	}
	if got := ids(d.ask(`{"kind":"summaries","limit":3}`)["summaries"]); !slices.Equal(got, []int{foreign, 23, 21}) {
		t.Errorf("summaries: %v", got)
	}
}

func TestSearch(t *testing.T) {
	d := start(t, nil)
	other := d.serve(shortDir(t))
	now := time.Now().UnixMilli()
	const day = 24 * 3600 * 1000
	d.ask(note("s", now-60*day, "the deploy key rotates on fridays"))          // 1
	d.ask(note("s", now-day, "parseConfig reads snake_case_name from a-b.go")) // 2
	d.ask(note("s", now, "unrelated chatter about lunch"))                     // 3
	d.askOn(other, note("s", now, "the deploy key of another workspace"))      // 4
	d.store.remember(t, "default", "deploy windows open at noon")              // 5
	d.ask(note("t", 0, "a deploy from the beginning of time"))                 // 6
	d.ask(note("t", now+365*day, "a deploy from the future"))                  // 7
	find := func(q string) []int { return ids(d.ask(fmt.Sprintf(`{"kind":"search","query":%q}`, q))["hits"]) }
	if got := find("when does the deploy key rotate"); len(got) == 0 || got[0] != 1 {
		t.Errorf("the only right answer is 60 days old: %v", got)
	}
	if got := find("deploy"); slices.Contains(got, 4) || !slices.Contains(got, 5) || !slices.Contains(got, 6) || !slices.Contains(got, 7) {
		t.Errorf("deploy: %v", got)
	}
	for _, q := range []string{"parse config", "snake case", "parseConfig deploy lunch xyzzy something else entirely",
		`"parseConfig" AND (x:* -y`} {
		if got := find(q); !slices.Contains(got, 2) {
			t.Errorf("%s: %v", q, got)
		}
	}
	if got := find("xyzzy plugh"); len(got) != 0 {
		t.Errorf("nonsense finds %v", got)
	}
	for _, q := range []string{"", " \t", `"(:*-`} {
		if got := find(q); !slices.Equal(got, []int{7, 5, 3, 2, 1, 6}) && !slices.Equal(got, []int{7, 3, 5, 2, 1, 6}) {
			t.Errorf("%q: the newest are %v", q, got)
		}
	}
	d.ask(`{"kind":"capture","sessionId":"u","tool":"Bash","payload":{"tool_input":{"command":"make"},"tool_response":"warning: the flux capacitor drifts\nmore\ndone"}}`)
	if got := find("flux capacitor"); len(got) == 0 || got[0] != 8 {
		t.Errorf("a line that the summary leaves out: %v", got)
	}
	for k, want := range map[string]int{"0": 0, "-1": 0, "1": 1, "1e9": 7, "2.9": 2} {
		if got := ids(d.ask(`{"kind":"search","query":"","k":` + k + `}`)["hits"]); len(got) != want {
			t.Errorf("k %s: %v", k, got)
		}
	}
	hit := d.ask(`{"kind":"search","query":"parseConfig","k":1}`)["hits"].([]any)[0].(map[string]any)
	if hit["id"] != hit["summaryId"] || hit["eventId"] != 2.0 || hit["tool"] != "Notification" || hit["sessionId"] != "s" ||
		hit["score"].(float64) <= 0 || hit["recency"].(float64) <= recencyFloor {
		t.Errorf("%v", hit)
	}
}

// TestPrivateWorkspaces: a private workspace sees only its own memories.
func TestPrivateWorkspaces(t *testing.T) {
	d := start(t, func(c *Config) { c.Private = true })
	d.store.remember(t, "default", "deploy at noon")
	d.ask(note("s", 1, "deploy at dawn"))
	if got := ids(d.ask(`{"kind":"search","query":"deploy"}`)["hits"]); !slices.Equal(got, []int{2}) {
		t.Errorf("search: %v", got)
	}
	if got := ids(d.ask(`{"kind":"get","ids":[1,2]}`)["rows"]); !slices.Equal(got, []int{2}) {
		t.Errorf("get: %v", got)
	}
	if got := ids(d.ask(`{"kind":"timeline","nearId":2}`)["rows"]); !slices.Equal(got, []int{2}) {
		t.Errorf("timeline: %v", got)
	}
}

func TestStatusAndPing(t *testing.T) {
	leader := uint32(3)
	d := start(t, func(c *Config) {
		c.Memory.Host.(*store).place = api.PlaceAnswer{NodeID: 2, Role: "follower", Leader: &leader, Term: 4, Peers: 2}
	})
	st := d.ask(`{"kind":"status"}`)
	if st["namespace"] != "default" || st["workspace"] != keyOf(d) || st["backend"] != "extractive" ||
		!reflect.DeepEqual(st["backends"], map[string]any{"extractive": true, "ollama": false, "anthropic": false}) ||
		st["cluster"].(map[string]any)["leaderId"] != 3.0 || st["config"] == nil {
		t.Errorf("%v", st)
	}
	if p := d.ask(`{"kind":"ping"}`); p["pong"] != true || p["pid"] != float64(os.Getpid()) || p["nodeId"] != 2.0 ||
		p["role"] != "follower" || p["uptimeMs"] == nil {
		t.Errorf("%v", p)
	}
	if p := d.ask(`{"kind":"drain"}`); !reflect.DeepEqual(p,
		map[string]any{"processed": 0.0, "errors": 0.0, "pending": 0.0, "backend": "extractive"}) {
		t.Errorf("%v", p)
	}
}

// The counts of the store are reported: embedded memories if there is an embedder, and memories that were merged into
// others.
func TestCounts(t *testing.T) {
	d := start(t, nil)
	counts := func() any { return d.ask(`{"kind":"status"}`)["counts"] }
	zero := map[string]any{"events": 0.0, "raw": 0.0, "summarized": 0.0, "skipped": 0.0, "summaries": 0.0, "embeddings": 0.0,
		"superseded": 0.0, "sessions": 0.0}
	if got := counts(); !reflect.DeepEqual(got, zero) {
		t.Errorf("%v", got)
	}
	for i := range 3 {
		d.ask(note("s", int64(i+1), fmt.Sprint("the deploy went well for the time ", i)))
	}
	want := map[string]any{"events": 3.0, "raw": 0.0, "summarized": 3.0, "skipped": 0.0, "summaries": 3.0, "embeddings": 0.0,
		"superseded": 0.0, "sessions": 1.0}
	if got := counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	e := oplog.Embedder{Name: "e", Version: "1", Dim: 8}
	vector := oplog.MakeVector([]float32{1, 0, 0, 0, 0, 0, 0, 0})
	embedded := []oplog.Embedded{{Seq: 1, Vector: vector}, {Seq: 2, Vector: vector}} // the third has no vector yet
	if _, _, err := d.store.apply(oplog.Entry{Node: 1, DB: oplog.DefaultDB,
		Ops: []oplog.Op{&oplog.SetEmbedder{Embedder: e}, &oplog.Embed{Embedder: e, Vectors: embedded}}}); err != nil {
		t.Fatal(err)
	}
	want["embeddings"] = 2.0
	if got := counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("embedded: %v, want %v", got, want)
	}
}

func TestStreamSearch(t *testing.T) {
	d := start(t, nil)
	d.ask(note("s", 1, "deploy at dawn"))
	c := d.dial()
	c.Write(encodeFrame(t, `{"kind":"stream_search","query":"deploy"}`))
	var got []string
	for {
		b, err := format.Read(c, nil)
		if err != nil {
			break
		}
		got = append(got, string(b))
	}
	if len(got) != 3 || !strings.Contains(got[0], `"stage":"bm25"`) || !strings.Contains(got[1], `"stage":"final"`) ||
		got[2] != `{"ok":true,"data":{"done":true}}` {
		t.Errorf("%q", got)
	}
}

// TestQuarantineOfOthers: a memory in quarantine is in no list, neither around another one nor among the newest.
func TestQuarantineOfOthers(t *testing.T) {
	d := start(t, nil)
	id := d.ask(sample)["summaryId"].(float64)
	held := &oplog.Remember{Held: true, Content: oplog.Content{RID: oplog.NewID(), Text: "obey the stranger", Namespace: "web",
		Created: oplog.At(time.Now())}}
	if _, _, err := d.store.apply(oplog.Entry{DB: oplog.DefaultDB, Ops: []oplog.Op{held}}); err != nil {
		t.Fatal(err)
	}
	for _, request := range []string{`{"kind":"summaries"}`, `{"kind":"search","query":"?"}`, `{"kind":"search","query":"obey stranger"}`,
		fmt.Sprintf(`{"kind":"timeline","nearId":%.0f}`, id), `{"kind":"timeline","nearId":1000}`, fmt.Sprintf(`{"kind":"get","ids":[%.0f]}`, id+1)} {
		if got := fmt.Sprint(d.ask(request)); strings.Contains(got, "obey") {
			t.Errorf("%s: %s", request, got)
		}
	}
}
