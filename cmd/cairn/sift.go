package main

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

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/sift"
)

// siftTarget is a workspace's socket as the flags say.
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

// socket finds the workspace and its socket.
func (t *siftTarget) socket(ctx context.Context) (string, sift.Workspace, error) {
	if err := sift.CheckNS(t.ns); err != nil {
		return "", sift.Workspace{}, cli.Usage(err)
	}
	w, err := sift.Find(ctx, t.dir, os.Getenv("SIFTCODER_SUBSPACE"))
	return filepath.Join(t.base(), t.ns, "run", w.Key+".sock"), w, err
}

// ask sends one request to the workspace.
func (t *siftTarget) ask(ctx context.Context, timeout time.Duration, request any) (json.RawMessage, error) {
	socket, _, err := t.socket(ctx)
	if err != nil {
		return nil, err
	}
	return siftCall(ctx, socket, timeout, request)
}

func siftCall(ctx context.Context, socket string, timeout time.Duration, request any) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	data, err := sift.Call(ctx, socket, request)
	var no *sift.Refusal
	if err != nil && !errors.As(err, &no) {
		return nil, cli.Hint(err, "check that a node runs on this host; `cairn sift open PATH` has it serve a workspace")
	}
	return data, err
}

func (a *app) sift() *cobra.Command {
	var t siftTarget
	group := &cobra.Command{Use: "sift", Short: "Memories of coding sessions: open, list, status, search, backfill and more"}
	t.flags(group)
	group.AddCommand(a.siftOpen(&t), a.siftList(&t), a.siftStatus(&t), a.siftSearch(&t), a.siftBackfill(&t), a.siftImport(&t),
		a.siftCall(&t), a.siftPass(&t, "ping", "Ask whether the workspace is served", nil),
		a.siftPass(&t, "drain", "Show how many events wait for a summary", nil),
		a.siftPass(&t, "stop", "Stop what serves the workspace", map[string]any{"kind": "shutdown"}))
	return group
}

// siftPass is a request without arguments, whose data is printed.
func (a *app) siftPass(t *siftTarget, verb, short string, request map[string]any) *cobra.Command {
	if request == nil {
		request = map[string]any{"kind": verb}
	}
	return &cobra.Command{Use: verb, Short: short, Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		data, err := t.ask(c.Context(), 5*time.Second, request)
		if err != nil {
			return err
		}
		return a.JSON(data)
	}}
}

func (a *app) siftOpen(t *siftTarget) *cobra.Command {
	return &cobra.Command{Use: "open PATH", Short: "Serve a project directory", Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
		dir, err := filepath.Abs(args[0])
		if err != nil {
			return err
		}
		data, err := siftCall(c.Context(), sift.Control(t.base()), 5*time.Second,
			map[string]any{"kind": "open", "path": dir, "subspace": os.Getenv("SIFTCODER_SUBSPACE")})
		if err != nil {
			return err
		}
		return a.JSON(data)
	}}
}

func (a *app) siftList(t *siftTarget) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List the workspaces that are served", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		data, err := siftCall(c.Context(), sift.Control(t.base()), 5*time.Second, map[string]any{"kind": "workspaces"})
		if err != nil {
			return err
		}
		return a.Show(asJSON, data, "{{range .workspaces}}{{.workspace}}  {{.cwd}}  {{.socket}}\n{{end}}")
	}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// siftState is what status prints, with the keys that scripts know.
type siftState struct {
	Daemon    string          `json:"daemon"` // running, error or unreachable
	Namespace string          `json:"namespace"`
	Workspace string          `json:"workspace"`
	Socket    string          `json:"socket"`
	Counts    json.RawMessage `json:"counts"`
}

func (a *app) siftStatus(t *siftTarget) *cobra.Command {
	c := &cobra.Command{Use: "status", Short: "Show the workspace and its counts", Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
		socket, w, err := t.socket(c.Context())
		if err != nil {
			return err
		}
		st := siftState{Daemon: "running", Namespace: t.ns, Workspace: w.Key, Socket: socket, Counts: json.RawMessage("null")}
		data, err := siftCall(c.Context(), socket, 5*time.Second, map[string]any{"kind": "status"})
		var no *sift.Refusal
		switch {
		case errors.As(err, &no):
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
		return a.JSON(st)
	}}
	c.Flags().Bool("json", true, "print JSON, the only format")
	return c
}

func (a *app) siftSearch(t *siftTarget) *cobra.Command {
	var k int
	var asJSON bool
	c := &cobra.Command{Use: "search QUERY", Short: "Search the workspace", Args: cobra.MinimumNArgs(1), RunE: func(c *cobra.Command, args []string) error {
		data, err := t.ask(c.Context(), 30*time.Second, map[string]any{"kind": "search", "query": strings.Join(args, " "), "k": k})
		if err != nil {
			return err
		}
		var found struct{ Hits []any }
		if err := json.Unmarshal(data, &found); err != nil {
			return err
		}
		if len(found.Hits) == 0 && !asJSON {
			fmt.Fprintln(a.Err, "nothing found: the workspace has nothing that matches the query")
		}
		return a.Show(asJSON, data, `{{range .hits}}#{{.id}}  {{printf "%.4f" .score.Float64}}  [{{or .tool ""}}] {{line 120 (or .text "")}}{{"\n"}}{{end}}`)
	}}
	c.Flags().IntVar(&k, "k", 10, "how many")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *app) siftBackfill(t *siftTarget) *cobra.Command {
	var limit, per int
	var everywhere bool
	c := &cobra.Command{Use: "backfill [transcripts]", Short: "Replay past transcripts into the workspace; safe to run again: rows already there are skipped", Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			req := map[string]any{"kind": "backfill", "workspaceOnly": !everywhere}
			if len(args) > 0 {
				req["source"] = args[0]
			}
			if c.Flags().Changed("limit") {
				req["limit"] = limit
			}
			if c.Flags().Changed("per-transcript") {
				req["perTranscriptLimit"] = per
			}
			return a.siftRun(c.Context(), t, req)
		}}
	c.Flags().IntVar(&limit, "limit", 0, "read at most this many transcripts, the newest")
	c.Flags().IntVar(&per, "per-transcript", 0, "read at most this many calls of each")
	c.Flags().BoolVar(&everywhere, "all", false, "transcripts of every project, not only of this one")
	return c
}

func (a *app) siftImport(t *siftTarget) *cobra.Command {
	return &cobra.Command{Use: "import DIR", Short: "Import what an earlier daemon stored of this workspace in DIR (its ~/.siftcoder)",
		Args: cobra.ExactArgs(1), RunE: func(c *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err != nil {
				return err
			}
			return a.siftRun(c.Context(), t, map[string]any{"kind": "import_home", "home": dir})
		}}
}

// siftRun asks for something long and shows how far it has come.
func (a *app) siftRun(ctx context.Context, t *siftTarget, req map[string]any) error {
	socket, _, err := t.socket(ctx)
	if err != nil {
		return err
	}
	type result struct {
		data json.RawMessage
		err  error
	}
	done := make(chan result, 1)
	go func() {
		data, err := siftCall(ctx, socket, time.Hour, req)
		done <- result{data, err}
	}()
	every := time.NewTicker(500 * time.Millisecond)
	defer every.Stop()
	last := ""
	for {
		select {
		case r := <-done:
			if r.err != nil {
				return r.err
			}
			return a.JSON(r.data)
		case <-every.C:
		}
		data, err := siftCall(ctx, socket, time.Second, map[string]any{"kind": "backfill_run"})
		var now sift.Tally
		if err != nil || json.Unmarshal(data, &now) != nil || !now.Running {
			continue
		}
		if s := fmt.Sprintf("%d of %d files, %d captured, %d known", now.Scanned, now.Files, now.Captured, now.SkippedDuplicate); s != last {
			fmt.Fprintln(a.Err, s)
			last = s
		}
	}
}

func (a *app) siftCall(t *siftTarget) *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{Use: "call JSON", Short: "Send a request and print the data of its reply", Args: cobra.ExactArgs(1),
		Example: `  cairn sift call '{"kind":"timeline","nearId":12}'`,
		RunE: func(c *cobra.Command, args []string) error {
			if !json.Valid([]byte(args[0])) {
				return cli.Usage(errors.New("the request is not JSON: " + strconv.Quote(args[0])))
			}
			data, err := t.ask(c.Context(), timeout, json.RawMessage(args[0]))
			if err != nil {
				return err
			}
			return a.JSON(data)
		}}
	c.Flags().DurationVar(&timeout, "timeout", 30*time.Second, "how long to wait")
	return c
}
