// Package dialect contains the verbs for clients on a node's host. Each speaks one of the protocols served there.
package dialect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// MCP returns the command `cairn mcp`, which speaks the Model Context Protocol on stdin and stdout, for tools that
// start their MCP servers themselves. It offers the same features as the node's /mcp.
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
	t.DatabaseFlag(c)
	for _, name := range []string{"json", "timeout"} { // meaningless here: MCP defines the format, and the client the timeout
		c.Flags().Lookup(name).Hidden = true
	}
	return c
}

// bearer adds the token to each request.
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
	if _, err := cli.Call(ctx, t, api.Me, nil); err != nil { // its errors say what is wrong with the node or the token
		return err
	}
	web, err := t.HTTPClient()
	if err != nil {
		return err
	}
	web.Transport = bearer{token, cmp.Or(web.Transport, http.DefaultTransport)} // HTTPClient follows no redirects, so the token is not sent elsewhere
	client := mcp.NewClient(&mcp.Implementation{Name: "cairn mcp", Version: cli.BuildVersion()}, nil)
	up, err := client.Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: base + t.WithDatabase("/mcp?tools="+tools), HTTPClient: web, DisableStandaloneSSE: true}, nil)
	if err != nil {
		return cli.Hint(err, "check that the node is running, and the token")
	}
	defer up.Close()
	opts := &mcp.ServerOptions{Instructions: up.InitializeResult().Instructions, Capabilities: up.InitializeResult().Capabilities,
		SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" }}
	if opts.Capabilities.Completions != nil {
		opts.CompletionHandler = func(ctx context.Context, r *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return translateError(up.Complete(ctx, r.Params))
		}
	}
	srv := mcp.NewServer(&mcp.Implementation{Name: "cairn", Title: "Cairn memory", Version: cli.BuildVersion()}, opts)
	if err := addFeatures(ctx, srv, up); err != nil {
		return err
	}
	if err := srv.Run(ctx, stdio{os.Stdin, &lineWriter{to: os.Stdout}}); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// addFeatures adds the node's tools, prompts and resources to a server. Each forwards its requests to the node.
func addFeatures(ctx context.Context, srv *mcp.Server, up *mcp.ClientSession) error {
	read := func(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return translateError(up.ReadResource(ctx, &mcp.ReadResourceParams{URI: r.Params.URI}))
	}
	return cmp.Or(each(up.Tools(ctx, nil), func(tool *mcp.Tool) {
		srv.AddTool(tool, func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return translateError(up.CallTool(ctx, &mcp.CallToolParams{Name: r.Params.Name, Arguments: r.Params.Arguments}))
		})
	}), each(up.Prompts(ctx, nil), func(prompt *mcp.Prompt) {
		srv.AddPrompt(prompt, func(ctx context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return translateError(up.GetPrompt(ctx, &mcp.GetPromptParams{Name: r.Params.Name, Arguments: r.Params.Arguments}))
		})
	}), each(up.Resources(ctx, nil), func(res *mcp.Resource) { srv.AddResource(res, read) }),
		each(up.ResourceTemplates(ctx, nil), func(res *mcp.ResourceTemplate) { srv.AddResourceTemplate(res, read) }))
}

// codeUnreachable is the JSON-RPC error code for a node that does not answer.
const codeUnreachable = -32003

// translateError converts the result of a call to the node: it unwraps the node's own JSON-RPC error, and replaces a
// network error with codeUnreachable.
func translateError[T any](answer T, err error) (T, error) {
	var away *net.OpError
	var failed *url.Error // for example, an idle connection that the node closed
	var refused *jsonrpc.Error
	switch {
	case errors.As(err, &away), errors.As(err, &failed), errors.Is(err, io.ErrUnexpectedEOF):
		err = &jsonrpc.Error{Code: codeUnreachable, Message: "the memory is unreachable: its node does not answer"}
	case errors.As(err, &refused):
		err = refused
	}
	return answer, err
}

// each calls add for all items of a list until an error.
func each[T any](all iter.Seq2[T, error], add func(T)) error {
	for x, err := range all {
		if err != nil {
			return err
		}
		add(x)
	}
	return nil
}
