// Package dialect holds the verbs of clients on a node's host, each of which speaks one of the protocols there.
package dialect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// MCP makes the verb `cairn mcp`, which speaks the Model Context Protocol on stdin and stdout, for tools that start
// their servers themselves. It offers the same as the node's /mcp.
func MCP(s *cli.Streams) *cobra.Command {
	var t cli.Target
	tools := api.ToolsCore
	c := &cobra.Command{Use: "mcp", Short: "Serve memory to a model over stdin and stdout (MCP)", Args: cobra.NoArgs,
		Long: `Serve memory to a model over stdin and stdout, as the Model Context Protocol defines it.

  {"mcpServers": {"cairn": {"command": "cairn", "args": ["mcp", "--home", "/path/to/cairn-data"]}}}

It talks to a node's gateway: start one with cairn dev, or name one with --endpoints and a token.

--tools chooses the tools of the model: core has those that most models need; full adds undoing corrections, contradictions
and keys; server-memory has the nine tools of @modelcontextprotocol/server-memory, over this memory. "cairn import" reads its
memory.jsonl.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if !slices.Contains(api.ToolProfiles, tools) {
				return cli.Usage(fmt.Errorf("--tools: want one of %s, got %q", strings.Join(api.ToolProfiles, ", "), tools))
			}
			return serveMCP(c.Context(), &t, tools)
		}}
	c.Flags().StringVar(&tools, "tools", tools, "the tools of the model: "+strings.Join(api.ToolProfiles, ", "))
	t.Flags(c)
	t.InDatabase(c)
	for _, name := range []string{"json", "timeout"} { // the protocol says how answers look, and its client how long it waits
		c.Flags().Lookup(name).Hidden = true
	}
	return c
}

// bearer adds the token to what the protocol's client sends.
type bearer struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

func serveMCP(ctx context.Context, t *cli.Target, tools string) error {
	base, err := t.URL(ctx)
	if err != nil {
		return err
	}
	token, err := t.Token()
	if err != nil {
		return err
	}
	web, err := t.HTTPClient()
	if err != nil {
		return err
	}
	web = &http.Client{Transport: bearer{token, cmp.Or(web.Transport, http.DefaultTransport)}}
	client := mcp.NewClient(&mcp.Implementation{Name: "cairn mcp", Version: cli.BuildVersion()}, nil)
	up, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: base + t.In("/mcp?tools="+tools), HTTPClient: web, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return cli.Hint(err, "check that the node is running, and the token")
	}
	defer up.Close()
	opts := &mcp.ServerOptions{Instructions: up.InitializeResult().Instructions, Capabilities: up.InitializeResult().Capabilities,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }}
	if opts.Capabilities.Completions != nil {
		opts.CompletionHandler = func(ctx context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return up.Complete(ctx, r.Params)
		}
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "cairn", Title: "Cairn memory", Version: cli.BuildVersion()}, opts)
	if err := offer(ctx, srv, up); err != nil {
		return err
	}
	if err := srv.Run(ctx, draining{&mcp.StdioTransport{}}); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// offer gives a server the tools, prompts and resources of the node's, each of which passes what is asked on.
func offer(ctx context.Context, srv *mcp.Server, up *mcp.ClientSession) error {
	read := func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return up.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.Params.URI})
	}
	return cmp.Or(each(up.Tools(ctx, nil), func(tool *mcp.Tool) {
		srv.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return up.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}), each(up.Prompts(ctx, nil), func(prompt *mcp.Prompt) {
		srv.AddPrompt(prompt, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return up.GetPrompt(ctx, &mcp.GetPromptParams{Name: r.Params.Name, Arguments: r.Params.Arguments})
		})
	}), each(up.Resources(ctx, nil), func(res *mcp.Resource) { srv.AddResource(res, read) }),
		each(up.ResourceTemplates(ctx, nil), func(res *mcp.ResourceTemplate) { srv.AddResourceTemplate(res, read) }))
}

// each adds all of a list, unless it cannot be read.
func each[T any](all iter.Seq2[T, error], add func(T)) error {
	for x, err := range all {
		if err != nil {
			return err
		}
		add(x)
	}
	return nil
}

// draining is a transport whose end of input comes after the answers to all that was asked: a program that pipes its
// requests in and closes the pipe reads them all.
type draining struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (d draining) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := d.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &drained{Connection: c, asked: map[any]bool{}, idle: make(chan struct{}, 1)}, nil
}

type drained struct {
	mcp.Connection
	mu    sync.Mutex
	asked map[any]bool  // by id: not answered yet
	idle  chan struct{} // holds a token when an answer was the last
}

// Read implements mcp.Connection.
func (d *drained) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := d.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && err == nil && r.IsCall() {
		d.mu.Lock()
		d.asked[r.ID.Raw()] = true
		d.mu.Unlock()
	}
	if !errors.Is(err, io.EOF) {
		return m, err
	}
	for d.waits() {
		select {
		case <-d.idle:
		case <-ctx.Done():
			return m, err
		}
	}
	return m, err
}

func (d *drained) waits() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.asked) > 0
}

// Write implements mcp.Connection.
func (d *drained) Write(ctx context.Context, m jsonrpc.Message) error {
	err := d.Connection.Write(ctx, m)
	if r, ok := m.(*jsonrpc.Response); ok {
		d.mu.Lock()
		delete(d.asked, r.ID.Raw())
		d.mu.Unlock()
		select {
		case d.idle <- struct{}{}:
		default:
		}
	}
	return err
}
