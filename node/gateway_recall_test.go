package node_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// stream requests a recall as an event stream.
func (w *web) stream(query obj) (*http.Response, *bufio.Reader) {
	w.t.Helper()
	raw, err := json.Marshal(query)
	if err != nil {
		w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.base+"/v1/recall", strings.NewReader(string(raw)))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp, bufio.NewReader(resp.Body)
}

// nextEvent reads an event of a stream.
func nextEvent(t *testing.T, in *bufio.Reader) (name string, data obj) {
	t.Helper()
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := strings.CutPrefix(line, "event: "); ok {
			name = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &data); err != nil {
				t.Fatal(err)
			}
			return name, data
		}
	}
}

// TestRecallStreams checks that a recall as an event stream has the same rows in the same order as a plain one, over
// many pages, and that errors have the same status.
func TestRecallStreams(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	batch := make([]obj, 100)
	for i := range batch {
		batch[i] = obj{"text": fmt.Sprintf("heron number %d stands in the lake", i), "importance": float64(i) / 100}
	}
	w.ok("POST", "/v1/remember/batch", obj{"memories": batch})
	// reinforcement would change the second answer
	query := obj{"query": "which heron stands in the lake?", "top_k": 90, "explain": true, "skip_reinforce": true}
	whole := w.ok("POST", "/v1/recall", query)
	resp, in := w.stream(query)
	if got := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("%d %s", resp.StatusCode, got)
	}
	for i, want := range whole["results"].([]any) {
		name, row := nextEvent(t, in)
		for _, r := range []obj{row, want.(obj)} { // both decay between the two requests
			for _, k := range []string{"score", "scores", "factors", "parts", "why_retrieved"} {
				delete(r, k)
			}
		}
		if name != "result" || !reflect.DeepEqual(row, want) {
			t.Fatalf("row %d: %s %v, want %v", i, name, row, want)
		}
	}
	if name, end := nextEvent(t, in); name != "end" || end["total"] != 90.0 || end["confidence"] == nil || end["hints"] == nil {
		t.Errorf("%s %v", name, end)
	}
	if resp, _ := w.stream(obj{"query": "x", "min_index": 1 << 40}); resp.StatusCode != http.StatusPreconditionFailed {
		t.Errorf("behind: %d", resp.StatusCode)
	}
	if resp, _ := w.stream(obj{}); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("without a question: %d", resp.StatusCode)
	}
}

// TestAStreamedAnswerIsWhole checks that the end of a streamed answer has all that a plain one has besides its rows,
// and that a recall as of a date comes as events too.
func TestAStreamedAnswerIsWhole(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	stored := w.ok("POST", "/v1/remember", obj{"text": "a heron stands in the lake of Ada Lovelace", "domain": "birds"})
	for _, query := range []obj{
		{"query": "heron", "domain": "birds", "explain": true, "skip_reinforce": true},
		{"query": "heron", "as_of": "2999-01-01"},
		{"query": "which lake has the most water in the dry months of a year", "min_score": 0, "skip_reinforce": true}, // it has hints
	} {
		whole := w.ok("POST", "/v1/recall", query)
		resp, in := w.stream(query)
		if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
			t.Fatalf("%v: %s", query, got)
		}
		if name, row := nextEvent(t, in); name != "result" || row["rid"] != stored["rid"] {
			t.Errorf("%v: %s %v", query, name, row)
		}
		name, end := nextEvent(t, in)
		for _, answer := range []obj{whole, end} { // these differ from one request to the next
			for _, k := range []string{"confidence", "lag_seconds"} {
				delete(answer, k)
			}
		}
		if delete(whole, "results"); name != "end" || !reflect.DeepEqual(end, whole) {
			t.Errorf("%v: %s %v, want %v", query, name, end, whole)
		}
	}
}

// TestUnreadRecallHoldsNothing checks that a client that does not read its answer of 64 MB blocks no other, and that
// the node does not buffer the answer.
func TestUnreadRecallHoldsNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	rows := 64
	if testing.Short() {
		rows = 16 // they exceed the socket buffers, and the race detector takes two seconds for each
	}
	w := start(t, 1).web(0)
	text := strings.Repeat("the lake is wide and the heron waits ", 28_000) // about 1 MB
	for i := range rows {
		w.ok("POST", "/v1/remember", obj{"text": fmt.Sprint(i, " ", text)})
	}
	_, in := w.stream(obj{"query": "heron", "top_k": rows})
	if name, _ := nextEvent(t, in); name != "result" {
		t.Fatalf("first event %q", name)
	}
	for i := range 20 { // were they held up, the reader would be cut off before they are done, and miss rows
		w.ok("POST", "/v1/remember", obj{"text": fmt.Sprintf("written beside a reader that does not read %d", i)})
	}
	seen := 1
	for name := "result"; name != "end"; {
		if name, _ = nextEvent(t, in); name == "result" {
			seen++
		}
	}
	if seen != rows {
		t.Errorf("%d rows", seen)
	}
}

// TestAnAnswerOutlastsTheWaitForAnIndex checks that min_index bounds only the wait for the index: an answer that a
// client takes long to read is complete.
func TestAnAnswerOutlastsTheWaitForAnIndex(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const rows = 24 // they exceed the socket buffers
	w := start(t, 1).web(0)
	text := strings.Repeat("the lake is wide and the heron waits ", 28_000) // about 1 MB
	var index any
	for i := range rows {
		index = w.ok("POST", "/v1/remember", obj{"text": fmt.Sprint(i, " ", text)})["log_index"]
	}
	begun := time.Now()
	_, in := w.stream(obj{"query": "heron", "top_k": rows, "min_index": index})
	seen, name, last := 0, "result", obj(nil)
	for name == "result" {
		if name, last = nextEvent(t, in); name == "result" {
			seen++
		}
		for seen == 1 && time.Since(begun) < 3*time.Second { // the reader does something else first
			w.ok("POST", "/v1/remember", obj{"text": "written beside a slow reader"})
		}
	}
	if name != "end" || seen != rows {
		t.Errorf("%d rows, then %s %v", seen, name, last)
	}
}
