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

// options are the flags of `cairn connect`.
type options struct {
	cli.Target
	project                   string
	yes, dry, undo, byProcess bool
}

// Connect is `cairn connect`.
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
	o.InDatabase(c)
	f := c.Flags()
	f.StringVar(&o.project, "project", "", "write into the files of the project in this directory, not into your own")
	f.BoolVar(&o.byProcess, "stdio", false,
		"have the tool start cairn mcp for each session; --stdio=false: have it connect to the node over HTTP, even where that is not the default")
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask for confirmation")
	f.BoolVar(&o.dry, "dry-run", false, "show the changes, and write nothing")
	f.BoolVar(&o.undo, "undo", false, "remove what was written")
	return c
}

// run connects a tool or disconnects it.
func (o *options) run(ctx context.Context, s *cli.Streams, t tool) error {
	base, err := dir()
	if err != nil {
		return err
	}
	if err := o.checkProject(); err != nil {
		return err
	}
	r := &record{Tool: t.name, Project: o.project, dir: base} // without entries when the tool is not connected
	if _, err := r.read(r.path()); err != nil {
		return err
	}
	was := *r
	var want []written
	var at site
	if !o.undo {
		if at, err = o.site(ctx, t, r); err != nil {
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
		if err := r.tellWaiting(s); err != nil {
			return err
		}
	}
	if o.dry {
		return nil
	}
	if len(p.changes) > 0 && !o.yes {
		if err := s.Confirm(ctx, fmt.Sprintf("Write %d file(s)?", len(p.changes)), "nothing was written"); err != nil {
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

// show prints what the plan changes, and what is there already.
func (p *plan) show(s *cli.Streams) error {
	for _, c := range p.changes {
		if err := c.show(s.Out); err != nil {
			return err
		}
	}
	for _, k := range p.kept {
		fmt.Fprintf(s.Err, "%s is there already\n", k)
	}
	return nil
}

// report tells that the tool is connected, how, and what is left for the user.
func (o *options) report(s *cli.Streams, t tool, at site, p *plan) {
	unchanged := ""
	if len(p.changes) == 0 {
		unchanged = "; nothing to change"
	}
	fmt.Fprintf(s.Err, "%s is connected to %s%s\n", t.title, at.url, unchanged)
	if at.process && !o.byProcess && t.byProcess != "" {
		fmt.Fprintf(s.Err, "it starts cairn mcp for each session: %s\n", t.byProcess)
	}
	if t.steps != nil {
		for _, step := range t.steps(at) {
			fmt.Fprintf(s.Err, "to do: %s\n", step)
		}
	}
}

// site works out where the tool goes, and fills in the record.
func (o *options) site(ctx context.Context, t tool, r *record) (at site, err error) {
	if at.home, err = os.UserHomeDir(); err != nil {
		return at, err
	}
	url, err := o.URL(ctx)
	if err != nil {
		return at, err
	}
	at.project, at.url, at.cairn = o.project, url+o.In("/mcp"), "cairn"
	if at.project == "" { // a project's files are for other machines too
		if at.cairn, err = os.Executable(); err != nil {
			return at, err
		}
	}
	r.Endpoint, r.Database, r.TLS, r.CA, r.Home = url, o.Database, o.TLS, o.CA, ""
	if len(o.Endpoints) == 0 || o.IsSet("home") && !o.IsSet("endpoints") {
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
	at.token = r.tokenFile()
	at.capture = r.Home != ""
	at.process = o.byProcess || t.byProcess != "" && !o.IsSet("stdio") || r.CA != "" // a tool trusts the system's authorities alone
	at.mcp = []string{"mcp", "--endpoints", url, "--token-file", at.token}
	if r.Home != "" {
		at.mcp = []string{"mcp", "--home", r.Home, "--token-file", at.token}
	}
	if r.CA != "" && r.Home == "" {
		at.mcp = append(at.mcp, "--ca", r.CA)
	}
	if o.Database != "" {
		at.mcp = append(at.mcp, "--db", o.Database)
	}
	return at, nil
}

// otherEntries returns what connect wrote for other tools and projects.
func otherEntries(base string, r *record) (all []written, err error) {
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

// connect makes the token, then the record, then the changes: a call that is cut off can be repeated or undone.
// was is the record as it was.
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
		r.Entries = append(slices.Clone(p.entries), slices.DeleteFunc(old, func(w written) bool { return owned(p.entries, w) })...)
		err = errors.Join(err, r.save())
	}
	return err
}

// makeToken makes the tool's token, unless it has one that is good for this node and database.
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
		revoke(ctx, s, &cli.Target{Home: was.Home, Timeout: o.Timeout, TLS: was.TLS, CA: was.CA, OfHome: true}, was, old)
	}
	return nil
}

// rejected asks the node whether it rejects the token that the tool has. A node that does not answer says nothing.
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

// tellWaiting says how much is lost when the tool is disconnected.
func (r *record) tellWaiting(s *cli.Streams) error {
	n, err := r.waiting(false)
	if n > 0 {
		fmt.Fprintf(s.Err, "%d capture(s) wait for the node at %s and will be lost; a session that starts while it runs stores them\n",
			n, r.Endpoint)
	}
	return err
}

// disconnect takes out the changes, and the token when no other project has the tool connected.
func (o *options) disconnect(ctx context.Context, s *cli.Streams, t tool, r *record, p *plan) error {
	if err := p.apply(); err != nil {
		return err
	}
	if _, err := r.waiting(true); err != nil {
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
	owner := &cli.Target{Home: r.Home, TokenText: o.TokenText, TokenFile: o.TokenFile, Timeout: o.Timeout, TLS: r.TLS,
		CA: r.CA, OfHome: r.Home != ""}
	if r.Home == "" {
		owner.Endpoints = []string{r.Endpoint}
	}
	revoke(ctx, s, owner, r, token)
	return errors.Join(os.Remove(r.tokenFile()), spool)
}

// revoke has the node of a record revoke its token, or says what is left to do. A token of one node is not shown to
// another: without a home, only the caller's own token can be used.
func revoke(ctx context.Context, s *cli.Streams, owner *cli.Target, r *record, token []byte) {
	err := errors.New("its node is not on this machine")
	if owner.Home != "" || len(owner.Endpoints) > 0 {
		_, err = cli.Call(ctx, owner, api.RevokeToken, api.RevokeTokenRequest{Token: string(token)})
	}
	if err != nil {
		fmt.Fprintf(s.Err, "to do: revoke its token at %s when the node runs: cairn token list, then cairn token revoke HASH for the label %s (%v)\n",
			r.Endpoint, r.Tool, err)
	}
}
