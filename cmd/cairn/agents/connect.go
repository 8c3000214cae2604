package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// options holds the flags of `cairn connect`.
type options struct {
	cli.Target
	project               string
	yes, dry, undo, stdio bool
}

// Connect returns the command `cairn connect`.
func Connect(s *cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{Use: "connect [TOOL]", Short: "Connect a coding agent on this machine to the memory", Args: cobra.MaximumNArgs(1),
		ValidArgs: toolNames(),
		Long: `Connect a coding agent on this machine to the memory: its MCP server, its hooks, and a note that tells the model when to use it.
Without a tool it lists the tools found here, and which are connected.

Tools: ` + strings.Join(toolNames(), ", ") + `.

It edits the tool's own files, shows the difference first and asks. Other entries, comments and order stay as they are.
The tool gets a token of its own for reading and writing, in a file that only you can read; no configuration holds it.
--undo removes what was written and revokes the token.`,
		Example: `  cairn connect                            what is here, and what is connected
  cairn connect claude                     show the changes, ask, write them
  cairn connect codex --dry-run            only show them
  cairn connect opencode --project .       in this project's files, not in your own
  cairn connect gemini --context prod      to the cluster that a context names
  cairn connect claude --undo              take it all out again`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return list(s, &o)
			}
			t, ok := findTool(args[0])
			if !ok {
				return cli.Usage(cli.Hint(fmt.Errorf("no tool %q", args[0]), "the tools are "+strings.Join(toolNames(), ", ")))
			}
			return o.run(c.Context(), s, t)
		}}
	o.Flags(c)
	o.DatabaseFlag(c)
	f := c.Flags()
	f.StringVar(&o.project, "project", "", "write into the files of the project in this directory, not into your own")
	f.BoolVar(&o.stdio, "stdio", false,
		"have the tool start cairn mcp for each session; --stdio=false: have it connect to the node over HTTP, even where that is not the default")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	f.BoolVar(&o.dry, "dry-run", false, "show the changes, and write nothing")
	f.BoolVar(&o.undo, "undo", false, "remove what was written")
	return c
}

// run connects a tool or disconnects it.
func (o *options) run(ctx context.Context, s *cli.Streams, t tool) error {
	base, err := recordsDir()
	if err != nil {
		return err
	}
	if err := o.checkProject(); err != nil {
		return err
	}
	r := &record{Tool: t.name, Project: o.project, dir: base} // Entries stays empty if the tool is not connected
	if _, err := r.read(r.path()); err != nil {
		return err
	}
	was := *r
	var want []writtenEntry
	var at target
	if !o.undo {
		if at, err = o.makeTarget(ctx, t, r); err != nil {
			return err
		}
		want = t.entries(at)
	} else if len(r.Entries) == 0 {
		fmt.Fprintf(s.Err, "%s is not connected\n", t.title)
		return nil
	}
	others, err := otherEntries(base, r)
	if err != nil {
		return err
	}
	p, err := makePlan(o.project != "", want, r.Entries, others)
	if err != nil {
		return err
	}
	if err := p.show(s); err != nil {
		return err
	}
	if o.undo {
		if err := r.warnWaiting(s); err != nil {
			return err
		}
	}
	if o.dry {
		if len(p.changes) == 0 {
			fmt.Fprintln(s.Err, "nothing to change")
		}
		return nil
	}
	if len(p.changes) > 0 && !o.yes {
		if err := s.Confirm(ctx, fmt.Sprintf("Write %s?", api.Many(len(p.changes), "file", "files")), "nothing was written"); err != nil {
			return err
		}
	}
	if o.undo {
		return o.disconnect(ctx, s, t, r, p)
	}
	if err := o.connect(ctx, s, r, &was, p); err != nil {
		return err
	}
	o.report(s, t, at, p)
	return nil
}

// checkProject makes the project's directory absolute.
func (o *options) checkProject() (err error) {
	if o.project == "" {
		return nil
	}
	if i, err := os.Stat(o.project); err != nil || !i.IsDir() {
		return cli.Usagef("--project %s is not a directory", o.project)
	}
	o.project, err = filepath.Abs(o.project)
	return err
}

// show prints the plan's changes, and the entries that exist already.
func (p *plan) show(s *cli.Streams) error {
	for _, c := range p.changes {
		if err := c.show(s.Out); err != nil {
			return err
		}
	}
	for _, k := range p.alreadyThere {
		fmt.Fprintf(s.Err, "%s is there already\n", k)
	}
	return nil
}

// report prints how the tool is connected, and the remaining steps for the user.
func (o *options) report(s *cli.Streams, t tool, at target, p *plan) {
	unchanged := ""
	if len(p.changes) == 0 {
		unchanged = "; nothing to change"
	}
	fmt.Fprintf(s.Err, "%s is connected to %s%s\n", t.title, at.url, unchanged)
	if at.stdio && !o.stdio && t.stdioReason != "" {
		fmt.Fprintf(s.Err, "it starts cairn mcp for each session: %s\n", t.stdioReason)
	}
	if t.steps != nil {
		for _, step := range t.steps(at) {
			fmt.Fprintf(s.Err, "to do: %s\n", step)
		}
	}
}

// makeTarget decides where and how the tool is connected, and fills in the record.
func (o *options) makeTarget(ctx context.Context, t tool, r *record) (at target, err error) {
	if at.home, err = os.UserHomeDir(); err != nil {
		return at, err
	}
	url, err := o.URL(ctx)
	if err != nil {
		return at, err
	}
	at.project, at.url, at.program = o.project, url+o.WithDatabase("/mcp"), "cairn"
	if at.project == "" { // a project's files are shared with other machines: no absolute path
		if at.program, err = os.Executable(); err != nil {
			return at, err
		}
	}
	r.Endpoint, r.Database, r.TLS, r.CA, r.Home = url, o.Database, o.TLS, o.CA, ""
	if o.atHome() {
		if r.Home, err = filepath.Abs(o.Home); err != nil {
			return at, err
		}
	}
	if r.CA != "" {
		if r.CA, err = filepath.Abs(r.CA); err != nil {
			return at, err
		}
	}
	all, err := records(r.dir, r.Tool)
	if err != nil {
		return at, err
	}
	r.Own = r.Own || slices.ContainsFunc(all,
		func(other *record) bool { return other.Project != r.Project && !other.Own && !other.sameNode(r) })
	at.tokenFile = r.tokenFile()
	at.capture = r.Home != ""
	at.stdio = o.stdio || t.stdioReason != "" && !o.IsSet("stdio") || r.CA != "" // a tool cannot be given another certificate authority
	at.mcpArgs = []string{"mcp", "--endpoints", url, "--token-file", at.tokenFile}
	if r.Home != "" {
		at.mcpArgs = []string{"mcp", "--home", r.Home, "--token-file", at.tokenFile}
	}
	if r.CA != "" && r.Home == "" {
		at.mcpArgs = append(at.mcpArgs, "--ca", r.CA)
	}
	if o.Database != "" {
		at.mcpArgs = append(at.mcpArgs, "--db", o.Database)
	}
	return at, nil
}

// otherEntries returns the entries that connect wrote for other tools and projects.
func otherEntries(base string, r *record) (all []writtenEntry, err error) {
	for _, name := range toolNames() {
		list, err := records(base, name)
		if err != nil {
			return nil, err
		}
		for _, other := range list {
			if other.Tool != r.Tool || other.Project != r.Project {
				all = append(all, other.Entries...)
			}
		}
	}
	return all, nil
}

// connect creates the token, then the record, then the changes, so that an interrupted call can be repeated or
// undone. was is the record before this call.
func (o *options) connect(ctx context.Context, s *cli.Streams, r, was *record, p *plan) error {
	if err := o.makeToken(ctx, s, r, was); err != nil {
		return err
	}
	old := r.Entries
	r.Entries = p.entries
	if err := r.save(); err != nil {
		return err
	}
	err := p.apply()
	if err != nil && len(old) > 0 {
		r.Entries = append(slices.Clone(p.entries), slices.DeleteFunc(old, func(w writtenEntry) bool { return containsEntry(p.entries, w) })...)
		err = errors.Join(err, r.save())
	}
	return err
}

// makeToken creates the tool's token, unless it has one that this node accepts for this database.
func (o *options) makeToken(ctx context.Context, s *cli.Streams, r, was *record) error {
	old, err := private.Read(r.tokenFile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	moved := len(was.Entries) > 0 && !was.sameNode(r)
	if err == nil && !moved && !rejected(ctx, r) {
		return nil
	}
	if err := o.newToken(ctx, r); err != nil {
		return err
	}
	if err == nil && moved {
		revoke(ctx, s, &cli.Target{Home: was.Home, TokenFile: filepath.Join(was.Home, "token"), Timeout: o.Timeout, TLS: was.TLS,
			CA: was.CA, PreferHome: true}, was, old)
	}
	return nil
}

// rejected reports whether the node rejects the tool's token. It is false if the node does not answer.
func rejected(ctx context.Context, r *record) bool {
	_, err := cli.Call(ctx, r.target(), api.Me, nil)
	return cli.Status(err) == http.StatusUnauthorized || cli.Status(err) == http.StatusNotFound
}

func (o *options) newToken(ctx context.Context, r *record) error {
	made, err := cli.Call(ctx, &o.Target, api.CreateToken,
		map[string]any{"database": cmp.Or(o.Database, "default"), "label": r.Tool, "scopes": []string{"read", "write"}})
	if err != nil {
		advice := "a token is made by a running node: start it, with `cairn dev` for instance, and run this again"
		if cli.Status(err) != 0 {
			advice = "have an owner of the database run `cairn token create --label " + r.Tool + "`, and put the token into " + r.tokenFile() + " (chmod 600)"
		}
		return cli.Hint(fmt.Errorf("make a token for %s: %w", r.Tool, err), advice)
	}
	if err := private.MakeDir(r.dir); err != nil {
		return err
	}
	return syncwriter.Replace(r.tokenFile(), []byte(made.Token), 0o600)
}

// warnWaiting prints how many captures are lost if the tool is disconnected.
func (r *record) warnWaiting(s *cli.Streams) error {
	n, err := r.countWaiting(false)
	if n > 0 {
		fmt.Fprintf(s.Err, "%s for the node at %s and will be lost; a session that starts while it runs stores them\n",
			api.Many(n, "capture waits", "captures wait"), r.Endpoint)
	}
	return err
}

// disconnect removes the entries. It also removes and revokes the token if no other project uses it.
func (o *options) disconnect(ctx context.Context, s *cli.Streams, t tool, r *record, p *plan) error {
	if err := p.apply(); err != nil {
		return err
	}
	if _, err := r.countWaiting(true); err != nil {
		return err
	}
	r.Entries = nil
	if err := r.save(); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "%s is disconnected\n", t.title)
	left, err := records(r.dir, t.name)
	if err != nil {
		return err
	}
	var spool error
	if len(left) == 0 {
		spool = os.RemoveAll(string(r.spool()))
	}
	if slices.ContainsFunc(left, func(other *record) bool { return other.tokenFile() == r.tokenFile() }) {
		return spool
	}
	token, err := private.Read(r.tokenFile())
	if errors.Is(err, fs.ErrNotExist) {
		return spool
	}
	if err != nil {
		return errors.Join(err, spool)
	}
	revoke(ctx, s, o.ownerOf(ctx, r), r, token)
	return errors.Join(os.Remove(r.tokenFile()), spool)
}

// ownerOf returns the target that revokes a record's token. A token goes to its own node alone: to the record's home
// goes the home's own token, unless this call is for that home; to an endpoint goes the token of this call if the call
// is for that endpoint. A token from a flag goes where the record says. Without a token the target names no node.
func (o *options) ownerOf(ctx context.Context, r *record) *cli.Target {
	owner := &cli.Target{Home: r.Home, TokenText: o.TokenText, TokenFile: o.TokenFile, Timeout: o.Timeout, TLS: r.TLS,
		CA: r.CA, PreferHome: r.Home != ""}
	given := o.IsSet("token") || o.IsSet("token-file")
	if r.Home == "" {
		if url, err := o.URL(ctx); given || err == nil && url == r.Endpoint {
			owner.Endpoints = []string{r.Endpoint}
		}
		return owner
	}
	home, err := filepath.Abs(o.Home)
	if here := err == nil && home == r.Home && o.atHome(); !here && !given {
		owner.TokenFile = filepath.Join(r.Home, "token")
	}
	return owner
}

// atHome reports whether the call is for the node of a home.
func (o *options) atHome() bool {
	return len(o.Endpoints) == 0 || o.IsSet("home") && !o.IsSet("endpoints")
}

// revoke asks the record's node to revoke its token, or prints how the user can do it. owner authorizes the request;
// it must be of the same node, because a token is never sent to another node.
func revoke(ctx context.Context, s *cli.Streams, owner *cli.Target, r *record, token []byte) {
	err := errors.New("this call has no token for that node")
	if owner.Home != "" || len(owner.Endpoints) > 0 {
		_, err = cli.Call(ctx, owner, api.RevokeToken, api.RevokeTokenRequest{Token: string(token)})
	}
	if err != nil {
		fmt.Fprintf(s.Err, "to do: revoke its token at %s when the node runs: cairn token list, then cairn token revoke HASH for the label %s (%v)\n",
			r.Endpoint, r.Tool, err)
	}
}
