package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestMCPAnswersAllThatWasAsked checks that requests from a pipe are all answered, although the pipe is closed after
// them.
func TestMCPAnswersAllThatWasAsked(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	in := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`
	const asked = 20
	for i := range asked {
		in += fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"remember","arguments":{"text":"memory number %d"}}}`+"\n", i+1, i)
	}
	c := cairntest.Command(t.Context(), "mcp", "--home", home)
	c.Stdin = strings.NewReader(in)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(out), `"result"`); n != asked+1 {
		t.Errorf("%d answers to %d requests:\n%s", n, asked+1, out)
	}
}

// TestMCPGoesOnBehindWhatIsNoMessage checks that a line that is no JSON or no message gets an error, and that the
// next line is processed.
func TestMCPGoesOnBehindWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	c := cairntest.Command(t.Context(), "mcp", "--home", home)
	c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"broken

{"jsonrpc":"2.0","id":7,"method":"caf` + "\xe9" + `"}
42
{"id":8,"method":"ping"}
[]
[{"jsonrpc":"2.0","id":9,"method":"ping"}]
{"jsonrpc":"2.0","id":10,"method":"ping"}`)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(out, []byte(`"id":10,"result"`)) {
		t.Errorf("the last request has no answer:\n%s", out)
	}
	for what, want := range map[string]int{`"code":-32700`: 2, `"code":-32600`: 3, `"id":null`: 5,
		"method: byte 37 of the JSON is not UTF-8": 1} {
		if n := bytes.Count(out, []byte(what)); n != want {
			t.Errorf("%d of %s, want %d:\n%s", n, what, want, out)
		}
	}
}

// TestMCPOverStdio checks that the tools over stdin and stdout are those of the node.
func TestMCPOverStdio(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	cl := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := cl.Connect(t.Context(), &mcp.CommandTransport{Command: cairntest.Command(t.Context(), "mcp", "--home", home)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.InitializeResult(); got.ServerInfo.Name != "cairn" || got.Instructions == "" {
		t.Errorf("initialize: %+v", got)
	}
	list, err := s.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "context correct forget recall relate remember status think timeline" {
		t.Errorf("tools: %s", got)
	}
	r, err := s.CallTool(t.Context(),
		&mcp.CallToolParams{Name: "remember", Arguments: map[string]any{"text": "the kettle is in the second drawer"}})
	if err != nil || r.IsError {
		t.Fatalf("remember: %v %v", r, err)
	}
	if text := r.Content[0].(*mcp.TextContent).Text; text != "rid: #1\n" {
		t.Errorf("remember: %q", text)
	}
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "where is the kettle"}})
	if err != nil || r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, "- [#1, ") {
		t.Errorf("recall: %v %v", r, err)
	}
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "cairn://memories/recent"})
	if err != nil || !strings.Contains(res.Contents[0].Text, "second drawer") {
		t.Errorf("resource: %v %v", res, err)
	}
}

// TestMCPPassesErrorsOn checks that errors of the node are passed on unchanged, and that an unreachable node is
// reported as such.
func TestMCPPassesErrorsOn(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	cl := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := cl.Connect(t.Context(), &mcp.CommandTransport{Command: cairntest.Command(t.Context(), "mcp", "--home", home)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "cairn://memory/none"}); err == nil ||
		!strings.HasSuffix(err.Error(), "\"resources/read\": Resource not found") {
		t.Errorf("no such memory: %v", err)
	}
	if _, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "known"}); err == nil ||
		!strings.HasSuffix(err.Error(), "\"prompts/get\": missing 'topic'") {
		t.Errorf("no topic: %v", err)
	}
	p.Kill()
	if _, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "status"}); err == nil ||
		!strings.HasSuffix(err.Error(), "the memory is unreachable: its node does not answer") {
		t.Errorf("without the node: %v", err)
	}
}

// TestMCPOffersAProfile checks that --tools selects the tools that a model gets.
func TestMCPOffersAProfile(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	for profile, want := range map[string]int{"full": 23, "server-memory": 9} {
		cl := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := cl.Connect(t.Context(),
			&mcp.CommandTransport{Command: cairntest.Command(t.Context(), "mcp", "--home", home, "--tools", profile)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if list, err := s.ListTools(t.Context(), nil); err != nil || len(list.Tools) != want || list.CacheScope != "private" {
			t.Errorf("%s: %+v %v", profile, list, err)
		}
	}
	if _, code := cairntest.Run(t, "mcp", "--home", home, "--tools", "all"); code != 2 {
		t.Errorf("no such profile: %d", code)
	}
}

// TestServerMemoryIsImported checks that the file of @modelcontextprotocol/server-memory becomes the graph of the
// profile of the same name, once, however often it is imported, and that models with the other profiles can recall
// it.
func TestServerMemoryIsImported(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	const file = `{"type":"entity","name":"Ada","entityType":"person","observations":["drinks tea","lives in Bergen"]}
{"type":"entity","name":"ACME/EU","entityType":"company","observations":[]}
{"type":"relation","from":"Ada","to":"ACME/EU","relationType":"works_at"}`
	for range 2 {
		c := cairntest.Command(t.Context(), "import", "--home", home)
		c.Stdin = strings.NewReader(file)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	const want = `{"entities":[{"name":"Ada","entityType":"person","observations":["drinks tea","lives in Bergen"]},{"name":"ACME/EU","entityType":"company","observations":[]}],` +
		`"relations":[{"from":"Ada","to":"ACME/EU","relationType":"works_at"}]}`
	ask := func(profile, tool string, args map[string]any) *mcp.CallToolResult {
		t.Helper()
		cl := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
		s, err := cl.Connect(t.Context(),
			&mcp.CommandTransport{Command: cairntest.Command(t.Context(), "mcp", "--home", home, "--tools", profile)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil || r.IsError {
			t.Fatalf("%s: %+v %v", tool, r, err)
		}
		return r
	}
	var got, wanted any
	b, err := json.Marshal(ask("server-memory", "read_graph", map[string]any{}).StructuredContent)
	if err := errors.Join(err, json.Unmarshal(b, &got), json.Unmarshal([]byte(want), &wanted)); err != nil ||
		!reflect.DeepEqual(got, wanted) {
		t.Errorf("got %s, %v\nwant %s", b, err, want)
	}
	if text := ask("core", "recall",
		map[string]any{"query": "what does Ada drink"}).Content[0].(*mcp.TextContent).Text; !strings.Contains(text,
		`"server-memory" in "server-memory": "Ada: drinks tea"`) {
		t.Errorf("recall: %s", text)
	}
}
