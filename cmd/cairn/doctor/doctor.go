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

// A Finding is a result of a check, and what to do about it unless its status is OK.
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

// examination holds the input of the checks.
type examination struct {
	t       *cli.Target
	path    string // of the configuration file; blank for a dev node
	cfg     node.Config
	secrets []string // files with secrets
	running *api.ClusterStatus
	greeted []string // peer addresses at which a node answered
	remote  bool     // only endpoints were given, so there is no home to examine
	held    bool     // a process has opened the home's state
	deep    bool
	key     config.KeySource // of a dev node
}

// checks lists the checks in order. A check may return several findings. here marks checks of the home and its host,
// which need no running node.
var checks = []struct {
	name string
	run  func(*examination, context.Context) []Finding
	here bool
}{
	{"home", (*examination).home, true},
	{"secrets", (*examination).secretFiles, true},
	{"encryption", (*examination).encryption, true},
	{"disk", (*examination).disk, true},
	{"certificates", (*examination).certificates, true},
	{"ports", (*examination).ports, true},
	{"peers", (*examination).peers, true},
	{"cluster", (*examination).cluster, false},
	{"certificates", (*examination).servedCertificates, false},
	{"clocks", (*examination).clocks, false},
	{"damage", (*examination).damage, false},
	{"store", (*examination).store, false},
	{"backups", (*examination).backups, false},
	{"files", (*examination).files, false},
}

// Command returns the command `cairn doctor`.
func Command(a *cli.Streams) *cobra.Command {
	var t cli.Target
	e := examination{t: &t}
	c := &cobra.Command{
		Use: "doctor", Short: "Look for what is wrong with a node and say what to do", Args: cobra.NoArgs,
		Long: `Look for what is wrong with a node and say what to do: configuration, ports, permissions, disk speed and space,
certificates, peers, clocks, versions, agreement of the states, damaged files, the size of the state, the backups that the
node makes by itself, and, when the node is stopped, its files (with --deep the hash of the whole state is computed again).
Exits with 1 when something is wrong.`,
		RunE: func(c *cobra.Command, _ []string) error { return e.examine(c.Context(), a) },
	}
	t.Flags(c)
	e.key.Flags(c)
	c.Flags().StringVarP(&e.path, "config", "c", "", "configuration of the node; without it, the dev node in --home is examined")
	c.Flags().BoolVar(&e.deep, "deep", false, "read the whole state of a stopped node")
	return c
}

// Report prints the findings of `cairn doctor` about a node, and returns the node's home.
func Report(ctx context.Context, t *cli.Target, path string, out *cli.Streams) (home string) {
	e := examination{t: t, path: path}
	_ = e.examine(ctx, out) // the error only counts the printed findings
	return e.cfg.Home
}

func (e *examination) examine(ctx context.Context, a *cli.Streams) error {
	found := e.configure()
	if found[len(found)-1].Status != Fail {
		e.held = !e.remote && home.Locked(e.cfg.Home)
		found = append(found, e.queryNode(ctx)...)
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

// configure reads the configuration, if there is one, and sets the target of the running node.
func (e *examination) configure() []Finding {
	if e.remote = e.path == "" && len(e.t.Endpoints) > 0 && !e.t.IsSet("home"); e.remote {
		return []Finding{{"configuration", OK,
			"none: the cluster at " + strings.Join(e.t.Endpoints, ", ") + "; --config or --home on a node's host looks at its files too", ""}}
	}
	if e.path == "" {
		e.cfg = node.Config{Home: e.t.Home, Storage: node.Storage{Encryption: e.key.Source()}}
		e.secrets = []string{filepath.Join(e.t.Home, "token"), filepath.Join(e.t.Home, home.SecretFile)}
		return []Finding{{"configuration", OK, "none: the node whose home is " + e.t.Home, ""}}
	}
	var log strings.Builder
	up, err := config.Load(e.path, false, func(*config.File) {}, os.Getenv,
		slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: dropTimeAndLevel})))
	if err != nil {
		return []Finding{{"configuration", Fail, err.Error(), "correct it; `cairn cluster init` writes one that works"}}
	}
	e.cfg = up.Node
	e.secrets = []string{filepath.Join(e.cfg.Home, home.SecretFile)} // the configuration's own secrets need no check: Load rejects readable ones
	if !e.t.IsSet("endpoints") {
		e.t.Home, e.t.PreferHome = e.cfg.Home, true
	}
	if said := strings.TrimSpace(log.String()); said != "" {
		return []Finding{{"configuration", Warn, said, "remove or correct what is named"}}
	}
	return []Finding{{"configuration", OK, e.path, ""}}
}

// dropTimeAndLevel removes the time and the level from log lines of config.Load.
func dropTimeAndLevel(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
		return slog.Attr{}
	}
	return a
}

// queryNode reads the cluster's status from the node. It returns a finding if a running node does not answer.
func (e *examination) queryNode(ctx context.Context) []Finding {
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

// maxLag is the lag of a member or an index, in entries, above which doctor warns.
const maxLag = 10_000

func (e *examination) files(ctx context.Context) []Finding {
	if e.running != nil {
		return e.compareIndexes(ctx)
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
		return []Finding{{"", Fail, err.Error(), cmp.Or(config.KeyAdvice(err), e.repairAdvice())}}
	}
	said := fmt.Sprintf("log %d to %d, snapshot at %d, state at %d", at.Log.First, at.Log.Last, at.Log.Snapshot, at.State.Index)
	switch {
	case at.State.Index == 0:
		said += ": the next start makes the state from the log"
	default:
		said += fmt.Sprint(", hash ", at.State.Sum)
	}
	if e.deep && at.State.Index > 0 {
		said += ", computed again"
	}
	return []Finding{{"", OK, said, ""}}
}

// repairAdvice returns the advice for unreadable or inconsistent files. Starting the node is safe: it moves
// unreadable files aside and catches up from its peers, or, if it is alone, names the lost records and does not
// start.
func (e *examination) repairAdvice() string {
	if len(e.cfg.Member.Peers) > 0 {
		return "see that the others are healthy (`cairn cluster status` on one of them), then start this node: what it cannot read is moved aside, and they bring it up to date"
	}
	return "copy the home to a safe place, then start the node: it keeps what its files still hold, and names what is lost before it goes on; or restore a backup into an empty home with `cairn restore`"
}

// damage reports damage that the members found, and damage that the next start of this node repairs.
func (e *examination) damage(context.Context) (found []Finding) {
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
				found = append(found, Finding{"", status, fmt.Sprintf("node %d %s", n.NodeID, d.Text), d.Repair})
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

// store reports the size of a running node's state on disk.
func (e *examination) store(context.Context) []Finding {
	if e.running == nil {
		return nil
	}
	s := e.running.Store
	return []Finding{{"", OK,
		fmt.Sprintf("state of %s on disk, %s, compaction %s behind", cli.Size(s.Bytes), api.Many(int(s.Tables), "table", "tables"), cli.Size(s.Unmerged)), ""}}
}

// whyNotReady explains a rejection by /v1/health/ready, whose text is a ReadyAnswer as JSON.
func whyNotReady(err error) string {
	var a api.ReadyAnswer
	switch e := json.Unmarshal([]byte(err.Error()), &a); {
	case e != nil:
		return err.Error()
	case a.Behind == nil:
		return "it hears no leader"
	}
	return fmt.Sprintf("its search index lacks %d acknowledged entries", *a.Behind)
}

// compareIndexes compares the positions of a running node's log, state and search index.
func (e *examination) compareIndexes(ctx context.Context) []Finding {
	var ready api.ReadyAnswer
	if e.running.Removed {
		return nil
	}
	if err := e.t.Get(ctx, "GET", "/v1/health/ready", nil, &ready); err != nil {
		return []Finding{{"", Warn, "the node is not ready: " + whyNotReady(err),
			"wait until it has caught up; `cairn cluster status --watch` shows how it does"}}
	}
	f := Finding{"", OK, fmt.Sprintf("log at %d, state at %d, index at %d", e.running.Commit, e.running.Applied, ready.Applied), ""}
	if ready.Behind != nil && *ready.Behind > maxLag {
		f.Status, f.Do = Warn, "the disk or the processor is too slow: see deploy/runbooks/slow-follower.md"
	}
	return []Finding{f}
}
