package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
)

// TestMCPAnswersAllThatWasAsked: requests that come through a pipe which is closed behind them are answered.
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

// A model's tools over stdin and stdout are the node's own.
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
	if got := strings.Join(names, " "); got != "correct forget recall relate remember status think timeline" {
		t.Errorf("tools: %s", got)
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "remember", Arguments: map[string]any{"text": "the kettle is in the second drawer"}})
	if err != nil || r.IsError {
		t.Fatalf("remember: %v %v", r, err)
	}
	var made struct {
		RID string `json:"rid"`
	}
	if err := json.Unmarshal([]byte(r.Content[0].(*mcp.TextContent).Text), &made); err != nil {
		t.Fatal(err)
	}
	r, err = s.CallTool(t.Context(), &mcp.CallToolParams{Name: "recall", Arguments: map[string]any{"query": "where is the kettle"}})
	if err != nil || r.IsError || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, made.RID) {
		t.Errorf("recall: %v %v", r, err)
	}
	res, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "cairn://memory/" + made.RID})
	if err != nil || !strings.Contains(res.Contents[0].Text, "second drawer") {
		t.Errorf("resource: %v %v", res, err)
	}
}
