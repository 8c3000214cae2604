package node_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A secretTransport adds the cluster secret to the requests of an MCP client.
type secretTransport struct{}

func (secretTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+secret)
	return http.DefaultTransport.RoundTrip(r)
}

// TestGatewayMCP checks that a model on a follower writes through the leader and recalls from the follower.
func TestGatewayMCP(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	f := c.web((c.leader() + 1) % 3)
	cl := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := cl.Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: f.base + "/mcp", HTTPClient: &http.Client{Transport: secretTransport{}},
			DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if want := []string{"context", "correct", "forget", "recall", "relate", "remember", "status", "think",
		"timeline"}; !slices.Equal(names, want) {
		t.Errorf("tools: %v, want %v", names, want)
	}
	call := func(name string, args obj) (obj, bool) {
		t.Helper()
		args["format"] = "json"
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		var out obj
		text := r.Content[0].(*mcp.TextContent).Text
		if !r.IsError && json.Unmarshal([]byte(text), &out) != nil {
			t.Fatalf("%s: %q", name, text)
		}
		return out, r.IsError
	}
	out, _ := call("remember", obj{"content": "the staging database is called heron"})
	rid := out["rid"].(string)
	if got, _ := call("recall", obj{"query": "name of the staging database", "limit": 3}); got["results"].([]any)[0].(obj)["rid"] != rid {
		t.Errorf("recall: %v", got)
	}
	for key, value := range map[string]any{"cairn/min_index": 1 << 40, "cairn/consistency": "x", "cairn/min_index ": 1} {
		_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Meta: mcp.Meta{key: value}, Name: "status"})
		if wrong := err == nil; wrong != strings.HasSuffix(key, " ") {
			t.Errorf("_meta %s: %v", key, err)
		}
	}
	if _, err := s.CallTool(t.Context(),
		&mcp.CallToolParams{Meta: mcp.Meta{"cairn/min_index": 1, "cairn/consistency": "linearizable"}, Name: "status"}); err != nil {
		t.Errorf("_meta: %v", err)
	}
	if got, _ := call("correct",
		obj{"id": rid, "reason": "renamed", "text": "the staging database is called osprey"}); got["revision"] != 1.0 {
		t.Errorf("correct: %v", got)
	}
	if got, bad := call("timeline", obj{"namespace": "default"}); bad || len(got["memories"].([]any)) != 1 { // a header mirrors the namespace
		t.Errorf("timeline of a namespace: %v", got)
	}
	if got, _ := call("timeline", obj{"rid": rid}); len(got["memories"].([]any)) != 1 {
		t.Errorf("timeline: %v", got)
	}
	if got, bad := call("think", obj{"run_conflicts": true, "run_patterns": true}); bad || got["personality_updated"] != false ||
		got["triggers"] == nil {
		t.Errorf("think: %v", got)
	}
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "cairn://memory/" + rid})
	if err != nil || !strings.Contains(res.Contents[0].Text, "osprey") {
		t.Errorf("resource: %v, %v", res, err)
	}
	if _, bad := call("recall", obj{}); !bad {
		t.Error("recall without a query was answered")
	}
	if got, _ := call("forget", obj{"rid": rid}); got["found"] != true {
		t.Errorf("forget: %v", got)
	}
	resp, err := http.Post(f.base+"/mcp", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	at := f.base + "/.well-known/oauth-protected-resource/mcp"
	if said := resp.Header.Get("WWW-Authenticate"); resp.StatusCode != 401 ||
		said != `Bearer resource_metadata="`+at+`", scope="read write"` {
		t.Errorf("without a token: %d %s", resp.StatusCode, said)
	}
	for _, path := range []string{"", "/mcp"} {
		about := f.with("").ok("GET", strings.TrimSuffix(strings.TrimPrefix(at, f.base), "/mcp")+path, nil)
		if about["resource"] != f.base+"/mcp" || fmt.Sprint(about["bearer_methods_supported"]) != "[header]" ||
			about["authorization_servers"] != nil {
			t.Errorf("about tokens: %v", about)
		}
	}
}
