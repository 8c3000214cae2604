package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/private"
)

// A Finding is the result of a check: the state, and what to do about it when it is not well.
type Finding struct {
	Check  string `json:"check"`
	Status string `json:"status"` // ok, warn, fail
	Says   string `json:"says"`
	Do     string `json:"do,omitempty"`
}

// The statuses of findings.
const (
	OK   = "ok"
	Warn = "warn"
	Fail = "fail"
)

// exam holds what the checks look at.
type exam struct {
	t       *cli.Target
	path    string // of the configuration; empty for a dev node
	cfg     node.Config
	secrets []string // files that hold secrets
	running *api.ClusterStatus
	remote  bool // endpoints alone are named: there is no home to look at
	held    bool // a process has the home's state open
	deep    bool
	key     config.KeySource // of a dev node
}

// checks are made in this order; each may find several things. here says that a check looks at the home and its host.
var checks = []struct {
	name string
	run  func(*exam, context.Context) []Finding
	here bool
}{
	{"home", (*exam).home, true},
	{"secrets", (*exam).secretFiles, true},
	{"encryption", (*exam).encryption, true},
	{"disk", (*exam).disk, true},
	{"certificates", (*exam).certificates, true},
	{"ports", (*exam).ports, true},
	{"peers", (*exam).peers, true},
	{"cluster", (*exam).cluster, false},
	{"certificates", (*exam).shownCertificates, false},
	{"clocks", (*exam).clocks, false},
	{"damage", (*exam).damage, false},
	{"store", (*exam).store, false},
	{"files", (*exam).files, false},
}

// Command is `cairn doctor`.
func Command(a *cli.Streams) *cobra.Command {
	var t cli.Target
	e := exam{t: &t}
	c := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong with a node and say what to do", Args: cobra.NoArgs,
		Long: `Look for what is wrong with a node and say what to do: configuration, ports, permissions, disk speed and space,
certificates, peers, clocks, versions, agreement of the states, damaged files and the size of the state, and, when the node
is stopped, its files (with --deep the hash of the whole state is computed again). Exits with 1 when something is wrong.`,
		RunE: func(c *cobra.Command, _ []string) error { return e.examine(c.Context(), a) },
	}
	t.Flags(c)
	e.key.Flags(c)
	c.Flags().StringVarP(&e.path, "config", "c", "", "configuration of the node; without it, the dev node in --home is examined")
	c.Flags().BoolVar(&e.deep, "deep", false, "read the whole state of a stopped node")
	return c
}

// Report prints what `cairn doctor` finds at a node, and returns the node's home.
func Report(ctx context.Context, t *cli.Target, path string, out *cli.Streams) (home string) {
	e := exam{t: t, path: path}
	_ = e.examine(ctx, out) // its findings are printed, the error repeats their number
	return e.cfg.Home
}

func (e *exam) examine(ctx context.Context, a *cli.Streams) error {
	found := e.configure()
	if found[len(found)-1].Status != Fail {
		e.held = !e.remote && home.Locked(e.cfg.Home)
		found = append(found, e.meet(ctx)...)
		for _, c := range checks {
			if c.here && e.remote {
				continue
			}
			for _, f := range c.run(e, ctx) {
				f.Check = c.name
				found = append(found, f)
			}
		}
	}
	bad := 0
	for _, f := range found {
		if f.Status == Fail {
			bad++
		}
	}
	if err := report(a, e.t.JSON, found); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d checks failed", bad, len(found))
	}
	return nil
}

func report(a *cli.Streams, asJSON bool, found []Finding) error {
	if asJSON {
		return a.JSON(found)
	}
	w := tabwriter.NewWriter(a.Out, 0, 4, 2, ' ', 0)
	for _, f := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\n", f.Status, f.Check, f.Says)
		if f.Do != "" {
			fmt.Fprintf(w, "\t\t→ %s\n", f.Do)
		}
	}
	return w.Flush()
}

// configure reads the configuration and finds the running node's gateway.
func (e *exam) configure() []Finding {
	if e.remote = e.path == "" && len(e.t.Endpoints) > 0 && !e.t.IsSet("home"); e.remote {
		return []Finding{{"configuration", OK,
			"none: the cluster at " + strings.Join(e.t.Endpoints, ", ") + "; --config or --home on a node's host looks at its files too", ""}}
	}
	if e.path == "" {
		e.cfg = node.Config{Home: e.t.Home, Storage: node.Storage{Encryption: e.key.Source()}}
		e.secrets = []string{filepath.Join(e.t.Home, "token"), filepath.Join(e.t.Home, home.SecretFile)}
		return []Finding{{"configuration", OK, "none: a dev node in " + e.t.Home, ""}}
	}
	var log strings.Builder
	up, err := config.Load(e.path, false, func(*config.File) {}, os.Getenv,
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: unstamped})))
	if err != nil {
		return []Finding{{"configuration", Fail, err.Error(), "correct it; `cairn cluster init` writes one that works"}}
	}
	e.cfg = up.Node
	e.secrets = []string{filepath.Join(e.cfg.Home, home.SecretFile)} // Load rejects a secret in a file that others can read
	if !e.t.IsSet("endpoints") {
		e.t.Home, e.t.OfHome = e.cfg.Home, true
	}
	if said := strings.TrimSpace(log.String()); said != "" {
		return []Finding{{"configuration", Warn, said, "remove or correct what is named"}}
	}
	return []Finding{{"configuration", OK, e.path, ""}}
}

// unstamped leaves the time and the level out of what the configuration's reader logs.
func unstamped(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// meet asks the node how it is, and says why there is no answer when one runs.
func (e *exam) meet(ctx context.Context) []Finding {
	if _, err := e.t.Token(); err != nil && !e.cfg.Tokens.NoMaster && !e.remote {
		e.t.TokenText = e.cfg.Member.Secret
		if made, err := private.Read(filepath.Join(e.cfg.Home, home.SecretFile)); e.t.TokenText == "" && err == nil {
			e.t.TokenText = strings.TrimSpace(string(made))
		}
	}
	var s api.ClusterStatus
	err := e.t.Cluster(ctx, &s)
	if err == nil {
		e.running = &s
		return nil
	}
	if e.remote {
		return []Finding{{"node", Fail, err.Error(), "check that a node runs there, and the token"}}
	}
	if !e.held {
		return nil
	}
	f := Finding{"node", Fail, fmt.Sprintf("a node runs in %s and does not answer: %v", e.cfg.Home, err),
		"name it with --endpoints and its token with --token-file, or read its log; do not change its files while it runs"}
	if cli.Status(err) != 0 {
		f.Status = Warn
	}
	return []Finding{f}
}

// farBehind is the lag, in entries, of a member or an index at which doctor warns.
const farBehind = 10_000

func (e *exam) files(ctx context.Context) []Finding {
	if e.running != nil {
		return e.layers(ctx)
	}
	if e.remote {
		return nil
	}
	if _, err := os.Stat(filepath.Join(e.cfg.Home, "state")); err != nil {
		return nil
	}
	if e.held {
		return []Finding{{"", Warn, "not checked: a running node has them open", "stop it first"}}
	}
	at, err := home.Check(e.cfg.Files(), e.deep)
	if err != nil {
		return []Finding{{"", Fail, err.Error(), cmp.Or(config.KeyAdvice(err), e.repair())}}
	}
	said := fmt.Sprintf("log %d to %d, snapshot at %d, state at %d, hash %s", at.Log.First, at.Log.Last, at.Log.Snapshot,
		at.State.Index, at.State.Sum)
	if e.deep {
		said += ", computed again"
	}
	return []Finding{{"", OK, said, ""}}
}

// repair says what to do about files that cannot be read, or do not fit together. Starting the node loses nothing: it
// moves aside what it cannot read, and is brought up to date, or says what is lost and waits.
func (e *exam) repair() string {
	if len(e.cfg.Member.Peers) > 0 {
		return "see that the others are healthy (`cairn cluster status` on one of them), then start this node: what it cannot read is moved aside, and they bring it up to date"
	}
	return "copy the home to a safe place, then start the node: it keeps what its files still hold, and names what is lost before it goes on; or restore a backup into an empty home with `cairn restore`"
}

// damage reports damage that the node has found and its next start repairs.
func (e *exam) damage(context.Context) (found []Finding) {
	if e.running != nil && e.running.HoldPurge {
		found = append(found,
			Finding{"", Warn, "the node's files may hold text that was purged",
				"the node rewrites them by itself; see deploy/runbooks/erase.md"})
	}
	if s := e.running; s != nil {
		for _, n := range s.Members() {
			for _, d := range cli.DamageOf(n.Damaged) {
				status := Fail
				if d.Healed {
					status = Warn
				}
				found = append(found, Finding{"", status, fmt.Sprintf("node %d %s", n.NodeID, d.Says), d.Heals})
			}
		}
	}
	if e.remote {
		return found
	}
	for _, d := range home.Damaged(e.cfg.Home) {
		found = append(found, Finding{"", Fail, d.Found, "restart the node: " + d.Next})
	}
	return found
}

// store says what the state of a running node costs on its disk.
func (e *exam) store(context.Context) []Finding {
	if e.running == nil {
		return nil
	}
	s := e.running.Store
	return []Finding{{"", OK,
		fmt.Sprintf("state of %s on disk, %d tables, compaction %s behind", cli.Size(s.Bytes), s.Tables, cli.Size(s.Unmerged)), ""}}
}

// notReady says what a node lacks: its rejection has the answer itself, as JSON.
func notReady(err error) string {
	var a api.ReadyAnswer
	switch e := json.Unmarshal([]byte(err.Error()), &a); {
	case e != nil:
		return err.Error()
	case a.Behind == nil:
		return "it hears no leader"
	}
	return fmt.Sprintf("its search index lacks %d acknowledged entries", *a.Behind)
}

// layers compares how far the log, the state and the index of a running node have come.
func (e *exam) layers(ctx context.Context) []Finding {
	var ready api.ReadyAnswer
	if e.running.Removed {
		return nil
	}
	if err := e.t.Get(ctx, "GET", "/v1/health/ready", nil, &ready); err != nil {
		return []Finding{{"", Warn, "the node is not ready: " + notReady(err),
			"wait until it has caught up; `cairn cluster status --watch` shows how it does"}}
	}
	f := Finding{"", OK, fmt.Sprintf("log at %d, state at %d, index at %d", e.running.Commit, e.running.Applied, ready.Applied), ""}
	if ready.Behind != nil && *ready.Behind > farBehind {
		f.Status, f.Do = Warn, "the disk or the processor is too slow: see deploy/runbooks/slow-follower.md"
	}
	return []Finding{f}
}
