package node_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/cairndb/cairn/node"
)

// transcript sends the requests of a script to a node and records the answers. What differs from run to run is
// replaced: ids by the names under which the script saved them, times and indexes by dots.
//
//	ask
//	POST /v1/remember save=rid:A token=reader type=text/plain
//	{"text":"x"}
//	----
//	200
//	{"log_index":"…","rid":"${A}"}
type transcript struct {
	base  string
	saved map[string]string
	doc   map[string]any  // openapi.json
	asked map[string]bool // "METHOD /path" of the table
}

// TestGatewayTranscript sends valid and invalid requests to every route of the table, and checks each answer against
// the OpenAPI document.
func TestGatewayTranscript(t *testing.T) {
	t.Parallel()
	w := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Background.Reinforce = time.Hour }).web(0) // else it may change between requests
	tr := &transcript{base: w.base, saved: map[string]string{"master": secret}, doc: w.ok("GET", "/openapi.json", nil),
		asked: map[string]bool{}}
	datadriven.Walk(t, "gateway/examples", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return tr.run(t, d) })
	})
	for path, methods := range tr.doc["paths"].(map[string]any) {
		for method := range methods.(map[string]any) {
			if line := strings.ToUpper(method) + " " + path; !tr.asked[line] {
				t.Errorf("no transcript asks %s", line)
			}
		}
	}
}

func (tr *transcript) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	line, body, _ := strings.Cut(d.Input, "\n")
	words := strings.Fields(line)
	method, path := words[0], words[1]
	kind, accept, token, save, big := "", "", "master", "", 0
	for _, a := range words[2:] {
		name, val, _ := strings.Cut(a, "=")
		switch name {
		case "token":
			token = val
		case "save":
			save = val
		case "type":
			kind = val
		case "accept":
			accept = val
		case "pad":
			big, _ = strconv.Atoi(val)
		default:
			t.Fatalf("%s: what is %q?", d.Pos, a)
		}
	}
	body = tr.expand(body)
	if big > 0 {
		body = strings.Replace(body, "PAD", strings.Repeat("x", big), 1)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, tr.base+tr.expand(path), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if kind == "" {
		kind = "application/json"
	}
	if body != "" && kind != "none" {
		req.Header.Set("Content-Type", kind)
	}
	if token != "none" {
		text := tr.saved[token]
		if text == "" {
			text = token
		}
		req.Header.Set("Authorization", "Bearer "+text)
	}
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == "text/event-stream" && strings.HasPrefix(path, "/v1/events") {
		tr.note(method, path)
		return fmt.Sprintf("%d\nan event stream\n", resp.StatusCode) // an endless stream, with its own tests
	}
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("%s: %v", d.Pos, err)
	}
	out := fmt.Sprintf("%d\n", resp.StatusCode)
	if resp.Header.Get("Content-Type") == "application/octet-stream" {
		tr.note(method, path)
		return out + "bytes\n"
	}
	if allow := resp.Header.Get("Allow"); allow != "" {
		out += "Allow: " + allow + "\n"
	}
	lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
	route := tr.note(method, path)
	for i, line := range lines {
		var v any
		data, event := strings.CutPrefix(line, "data: ")
		if event {
			line = data
			out += "data: "
		}
		if json.Unmarshal([]byte(line), &v) != nil {
			out += line + "\n"
			continue
		}
		if i == 0 && save != "" {
			key, name, _ := strings.Cut(save, ":")
			tr.saved[name] = pick(v, key)
		}
		if resp.Header.Get("Content-Type") == "application/json" && resp.StatusCode != http.StatusMethodNotAllowed {
			tr.conforms(t, d, route, resp.StatusCode, v)
		}
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(tr.settled("", v)); err != nil {
			t.Fatal(err)
		}
		out += b.String()
	}
	return out
}

// pick follows a path of names and numbers into a value.
func pick(v any, path string) string {
	for _, step := range strings.Split(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[step]
		case []any:
			i := 0
			if _, err := fmt.Sscan(step, &i); err != nil || i >= len(x) {
				return ""
			}
			v = x[i]
		}
	}
	return fmt.Sprint(v)
}

func (tr *transcript) expand(s string) string {
	for name, v := range tr.saved {
		s = strings.ReplaceAll(s, "${"+name+"}", v)
	}
	return s
}

// volatile are the keys whose values differ in each run.
var volatile = regexp.MustCompile(`^(at|log_index|log_end|signature|node_key|node_files_hold|size|sha256|.*_at|.*_at_iso|last_access|index|.*_index|lag_seconds|clock_offset_ms|disk_bytes|tables|unmerged_bytes|score|confidence|time|uptime_secs|latency_ms|duration_ms|duration_secs|` +
	`hash|hash_prefix|state_hash|log_time|token|cluster_id|addr|wire|http|leader_addr|leader_http|first_seen|last_seen|last_seen_iso|last_maintenance|digest|urgency|per_day|last_confirmed|until|depth|` +
	`why_retrieved|entities|tokens|consolidation_count|conflicts_found|patterns_new|patterns_updated|personality_updated|operations|access_count|still_held_by|cursor)$`)

// measured are the lists of measurements.
var measured = regexp.MustCompile(`^(at|marks|.*_per_second|.*_ms|.*_bytes|.*_entries)$`)

// What a block for a prompt says of a memory before its text.
var (
	inBlock = regexp.MustCompile(`(- \[#\d+\]) \d{4}-\d\d-\d\d, `)
)

var place = regexp.MustCompile(`log index \d+`)

var hashStart = regexp.MustCompile(`^[0-9a-f]{12}$`)

var uuid = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)

func (tr *transcript) settled(key string, v any) any {
	switch x := v.(type) {
	case map[string]any:
		if key == "scores" || key == "score_breakdown" || key == "factors" || key == "parts" {
			return "…"
		}
		for k := range x {
			x[k] = tr.settled(k, x[k])
		}
	case []any:
		if key == "hints" || measured.MatchString(key) || volatile.MatchString(key) && len(x) > 0 && kindOf(x[0]) != "object" {
			return "…"
		}
		for i := range x {
			x[i] = tr.settled(key, x[i])
		}
	case nil:
	case string:
		for name, saved := range tr.saved {
			if saved != "" && saved == x {
				return "${" + name + "}"
			}
		}
		if volatile.MatchString(key) {
			return "…"
		}
		x = inBlock.ReplaceAllString(x, "$1 <day>, ")
		if (key == "on" || key == "by") && hashStart.MatchString(x) {
			return "<hash>"
		}
		return uuid.ReplaceAllStringFunc(place.ReplaceAllString(x, "log index …"), func(id string) string {
			for name, saved := range tr.saved {
				if saved == id {
					return "${" + name + "}"
				}
			}
			return "<id>"
		})
	default:
		if volatile.MatchString(key) {
			return "…"
		}
	}
	return v
}

// note finds the document's path of a request and records it.
func (tr *transcript) note(method, path string) map[string]any {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	var best string
	for p, methods := range tr.doc["paths"].(map[string]any) {
		if methods.(map[string]any)[strings.ToLower(method)] == nil {
			continue
		}
		want := strings.Split(p, "/")
		fits := len(want) == len(parts)
		for i := 0; fits && i < len(want); i++ {
			fits = strings.HasPrefix(want[i], "{") || want[i] == parts[i]
		}
		if fits && (best == "" || strings.Count(p, "{") < strings.Count(best, "{")) {
			best = p
		}
	}
	if best == "" {
		return nil
	}
	tr.asked[method+" "+best] = true
	return tr.doc["paths"].(map[string]any)[best].(map[string]any)[strings.ToLower(method)].(map[string]any)
}

// conforms compares an answer with the documented response: all keys are described, required ones exist, and the
// types match, at all levels.
func (tr *transcript) conforms(t *testing.T, d *datadriven.TestData, route map[string]any, status int, v any) {
	t.Helper()
	if len(route) == 0 {
		return
	}
	answer, ok := documented(tr.doc, route, status)
	if !ok {
		t.Errorf("%s: the document knows no answer %d", d.Pos, status)
		return
	}
	content, ok := answer["content"].(map[string]any)
	if !ok {
		t.Errorf("%s: the document knows no content of answer %d", d.Pos, status)
		return
	}
	for _, wrong := range mismatches(tr.doc, content["application/json"].(map[string]any)["schema"].(map[string]any), v, "",
		status != http.StatusOK) {
		t.Errorf("%s: %s", d.Pos, wrong)
	}
}

// mismatches returns the places where a value differs from a schema of the document. Errors may have additional
// fields.
func mismatches(doc, schema map[string]any, v any, at string, open bool) (list []string) {
	if ref, ok := schema["$ref"].(string); ok {
		name := strings.TrimPrefix(ref, "#/components/schemas/")
		schema, ok = doc["components"].(map[string]any)["schemas"].(map[string]any)[name].(map[string]any)
		if !ok {
			return []string{fmt.Sprintf("%s: there is no schema %s", at, name)}
		}
	}
	if types := schema["type"]; types != nil && !slices.Contains(kinds(types), kindOf(v)) &&
		!(kindOf(v) == "integer" && slices.Contains(kinds(types), "number")) {
		return []string{fmt.Sprintf("%q is %s, described as %v", at, kindOf(v), types)}
	}
	switch v := v.(type) {
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i := range v {
			list = append(list, mismatches(doc, items, v[i], fmt.Sprintf("%s[%d]", at, i), open)...)
		}
	case map[string]any:
		props, ok := schema["properties"].(map[string]any)
		if !ok {
			return list // any object
		}
		must, _ := schema["required"].([]any)
		for _, k := range must {
			if _, ok := v[k.(string)]; !ok {
				list = append(list, fmt.Sprintf("%s: no %q", at, k))
			}
		}
		for k := range v {
			p, ok := props[k].(map[string]any)
			switch {
			case ok:
				list = append(list, mismatches(doc, p, v[k], at+"."+k, open)...)
			case !open:
				list = append(list, fmt.Sprintf("%s: %q is not described", at, k))
			}
		}
	}
	return list
}

func kinds(v any) (list []string) {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	for _, s := range v.([]any) {
		list = append(list, s.(string))
	}
	return list
}

func kindOf(v any) string {
	switch x := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case float64:
		if x == float64(int64(x)) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	}
	return "object"
}
