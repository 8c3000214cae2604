package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/sift"
	"github.com/cairndb/cairn/oplog/pause"
)

// siftTarget holds the flags that select a workspace.
type siftTarget struct{ home, siftHome, ns, dir string }

func (t *siftTarget) flags(c *cobra.Command) {
	cli.HomeFlag(c.PersistentFlags(), &t.home, "data directory of the node on this host")
	c.PersistentFlags().StringVar(&t.siftHome, "sift-home", "", "directory of the sockets; HOME/run/siftcoder by default")
	c.PersistentFlags().StringVar(&t.ns, "ns", cmp.Or(os.Getenv("SIFTCODER_NS"), sift.DefaultNS), "namespace")
	c.PersistentFlags().StringVar(&t.dir, "workspace", cmp.Or(os.Getenv("SIFTCODER_WORKSPACE_CWD"), "."), "directory of the project")
}

func (t *siftTarget) base() string {
	return cmp.Or(t.siftHome, filepath.Join(t.home, "run", "siftcoder"))
}

// socket returns the workspace and its socket.
func (t *siftTarget) socket(ctx context.Context) (string, sift.Workspace, error) {
	if err := sift.CheckNS(t.ns); err != nil {
		return "", sift.Workspace{}, cli.Usage(err)
	}
	w, err := sift.FindWorkspace(ctx, t.dir, os.Getenv("SIFTCODER_SUBSPACE"))
	return sift.Socket(t.base(), t.ns, w.Key), w, err
}

func siftCall(ctx context.Context, socket string, timeout time.Duration, request any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, err := sift.Call(ctx, socket, request)
	if _, no := errors.AsType[*sift.Refusal](err); err != nil && !no {
		return nil, cli.Hint(err, "check that a node runs on this host; `cairn sift open PATH` has it serve a workspace")
	}
	return data, err
}

// A siftVerb is a verb whose request goes to the socket of a workspace or of the daemon.
type siftVerb struct {
	verb
	daemon bool          // sent to the daemon, not to a workspace
	wait   time.Duration // timeout without --timeout; 0: an hour, with progress
}

// siftVerbs are the commands below `cairn sift`, in addition to status.
var siftVerbs = []siftVerb{
	{daemon: true, wait: siftWait, verb: verb{use: "open PATH", short: "Serve a project directory", args: cobra.ExactArgs(1),
		request: func(_ *pflag.FlagSet, args []string) (any, error) {
			dir, err := filepath.Abs(args[0])
			return map[string]any{"kind": "open", "path": dir, "subspace": os.Getenv("SIFTCODER_SUBSPACE")}, err
		}}},
	{daemon: true, wait: siftWait, verb: verb{use: "list", short: "List the workspaces that are served", args: cobra.NoArgs,
		request:  siftKind("workspaces"),
		template: "{{range .workspaces}}{{.workspace}}  {{.cwd}}  {{.socket}}\n{{end}}"}},
	{wait: 30 * time.Second, verb: verb{use: "search QUERY", short: "Search the workspace", args: cobra.MinimumNArgs(1),
		request: func(f *pflag.FlagSet, args []string) (any, error) {
			k, err := f.GetInt("k")
			return map[string]any{"kind": "search", "query": strings.Join(args, " "), "k": k}, err
		}, flags: func(f *pflag.FlagSet) { f.Int("k", 10, "how many") },
		emptyText: "nothing found: the workspace has nothing that matches the query",
		template:  `{{range .hits}}#{{.id}}  {{printf "%.4f" .score.Float64}}  {{with .tool}}[{{.}}] {{end}}{{line 120 (or .text "")}}{{"\n"}}{{end}}`}},
	{verb: verb{use: "backfill [transcripts]",
		short:   "Replay past sessions of Claude Code and Codex into the workspace; safe to run again: rows already there are skipped",
		args:    cobra.MaximumNArgs(1),
		request: siftBackfill, flags: func(f *pflag.FlagSet) {
			f.Int("limit", 0, "read at most this many transcripts, the newest")
			f.Int("per-transcript", 0, "read at most this many calls of each")
			f.Bool("all", false, "transcripts of every project, not only of this one")
		},
		template: "transcripts: {{.files}}; captured: {{.captured}}; skipped: {{.skipped}} ({{.skippedDuplicate}} there already)" +
			`{{if ne (print .broken) "0"}}; lines that could not be read: {{.broken}}{{end}}` +
			`{{if ne (print .errors) "0"}}; failed: {{.errors}}{{with .firstError}}: {{.}}{{end}}{{end}}{{"\n"}}`}},
	{verb: verb{use: "import DIR", short: "Import what an earlier daemon stored of this workspace in DIR (its ~/.siftcoder)",
		args: cobra.ExactArgs(1), request: func(_ *pflag.FlagSet, args []string) (any, error) {
			dir, err := filepath.Abs(args[0])
			return map[string]any{"kind": "import_home", "home": dir}, err
		}}},
	{wait: 30 * time.Second, verb: verb{use: "call JSON", short: "Send a request and print the data of its reply", args: cobra.ExactArgs(1),
		example: `  cairn sift call '{"kind":"timeline","nearId":12}'`,
		flags:   func(f *pflag.FlagSet) { f.Duration("timeout", 30*time.Second, "how long to wait") },
		request: func(_ *pflag.FlagSet, args []string) (any, error) {
			if !json.Valid([]byte(args[0])) {
				return nil, cli.Usage(errors.New("the request is not JSON: " + strconv.Quote(args[0])))
			}
			return json.RawMessage(args[0]), nil
		}}},
	{wait: siftWait, verb: verb{use: "ping", short: "Ask whether the workspace is served", args: cobra.NoArgs, request: siftKind("ping")}},
	{wait: siftWait, verb: verb{use: "drain", short: "Show how many events wait for a summary", args: cobra.NoArgs, request: siftKind("drain")}},
	{wait: siftWait, verb: verb{use: "stop", short: "Stop serving the workspace", args: cobra.NoArgs,
		request: func(*pflag.FlagSet, []string) (any, error) {
			return map[string]any{"kind": "shutdown", "workspaceOnly": true}, nil // without workspaceOnly, the request would stop a dev node
		}}},
}

// siftWait is the timeout for an answer that needs no work.
const siftWait = 5 * time.Second

func siftKind(kind string) func(*pflag.FlagSet, []string) (any, error) {
	return func(*pflag.FlagSet, []string) (any, error) { return map[string]any{"kind": kind}, nil }
}

func siftBackfill(f *pflag.FlagSet, args []string) (any, error) {
	everywhere, err := f.GetBool("all")
	req := map[string]any{"kind": "backfill", "workspaceOnly": !everywhere}
	if len(args) > 0 {
		req["source"] = args[0]
	}
	for flag, field := range map[string]string{"limit": "limit", "per-transcript": "perTranscriptLimit"} {
		if f.Changed(flag) {
			req[field] = json.RawMessage(f.Lookup(flag).Value.String())
		}
	}
	return req, err
}

// Sift returns the command `cairn sift`.
func Sift(s *cli.Streams) *cobra.Command {
	var t siftTarget
	group := &cobra.Command{Use: "sift", Short: "Memories of coding sessions: open, list, status, search, backfill and more"}
	t.flags(group)
	group.AddCommand(siftStatus(s, &t))
	for _, v := range siftVerbs {
		group.AddCommand(siftCommand(s, &t, v))
	}
	return group
}

func siftCommand(s *cli.Streams, t *siftTarget, v siftVerb) *cobra.Command {
	c := v.command(s, func(c *cobra.Command, request any) (data json.RawMessage, err error) {
		socket := sift.ControlSocket(t.base())
		if !v.daemon {
			if socket, _, err = t.socket(c.Context()); err != nil {
				return nil, err
			}
		}
		wait := v.wait
		if c.Flags().Lookup("timeout") != nil {
			if wait, err = c.Flags().GetDuration("timeout"); err != nil {
				return nil, err
			}
		}
		if wait == 0 {
			return siftCallWithProgress(c.Context(), s, socket, request)
		}
		return siftCall(c.Context(), socket, wait, request)
	})
	if v.template != "" {
		cli.WithJSON(c)
	}
	return c
}

// SiftState is the output of `cairn sift status`. Scripts depend on its keys.
type SiftState struct {
	Daemon    string          `json:"daemon"` // running, error or unreachable
	Namespace string          `json:"namespace"`
	Workspace string          `json:"workspace"`
	Socket    string          `json:"socket"`
	Counts    json.RawMessage `json:"counts"`
}

func siftStatus(s *cli.Streams, t *siftTarget) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show the workspace and its counts", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			socket, w, err := t.socket(c.Context())
			if err != nil {
				return err
			}
			st := SiftState{Daemon: "running", Namespace: t.ns, Workspace: w.Key, Socket: socket, Counts: json.RawMessage("null")}
			data, err := siftCall(c.Context(), socket, siftWait, map[string]any{"kind": "status"})
			_, no := errors.AsType[*sift.Refusal](err)
			switch {
			case no:
				st.Daemon = "error"
			case err != nil:
				st.Daemon = "unreachable"
			default:
				var d struct{ Counts json.RawMessage }
				if err := json.Unmarshal(data, &d); err != nil {
					return err
				}
				st.Counts = d.Counts
			}
			return s.JSON(st)
		}}
	c.Flags().Bool("json", true, "print JSON, the only format")
	return c
}

// siftCallWithProgress sends a long-running request and prints its progress.
func siftCallWithProgress(ctx context.Context, s *cli.Streams, socket string, req any) (data json.RawMessage, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		data, err = siftCall(ctx, socket, time.Hour, req)
	}()
	last := ""
	for range pause.Ticks(done, 500*time.Millisecond) {
		so, failed := siftCall(ctx, socket, time.Second, map[string]any{"kind": "backfill_run"})
		var now sift.Tally
		if failed != nil || json.Unmarshal(so, &now) != nil || !now.Running {
			continue
		}
		if line := fmt.Sprintf("%d of %d files, %d captured, %d known", now.Scanned, now.Files, now.Captured,
			now.SkippedDuplicate); line != last {
			fmt.Fprintln(s.Err, line)
			last = line
		}
	}
	return data, err
}
