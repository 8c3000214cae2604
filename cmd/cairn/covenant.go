package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/covenant"
)

// covenantTarget is the socket that the flags name.
type covenantTarget struct {
	home, covenantHome string
	asJSON             bool
	timeout            time.Duration
}

func (t *covenantTarget) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	f.StringVar(&t.home, "home", cmp.Or(os.Getenv("CAIRN_HOME"), cli.DefaultHome), "data directory of the node on this host")
	f.StringVar(&t.covenantHome, "covenant-home", os.Getenv("COVENANT_HOME"), "directory of the socket and the token (or COVENANT_HOME); HOME/run/covenant by default")
	f.BoolVar(&t.asJSON, "json", false, "print JSON")
	f.DurationVar(&t.timeout, "timeout", 15*time.Second, "how long to wait for an answer")
}

// ask sends one request and gives the frames of its answer to f.
func (t *covenantTarget) ask(ctx context.Context, request map[string]any, f func(json.RawMessage) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	c, err := covenant.Dial(ctx, cmp.Or(t.covenantHome, filepath.Join(t.home, "run", "covenant")))
	if err != nil {
		return cli.Hint(err, "check that a node runs on this host; name its directory with --home or --covenant-home")
	}
	defer c.Close()
	return c.Call(request, f)
}

// A covenantVerb is a request as a command: how its arguments become fields, and how its answer is shown to a person.
type covenantVerb struct {
	group, use, short string
	kind              string
	envelope          string // what --json calls the answer, where that is not its kind
	args              cobra.PositionalArgs
	fields            func(args []string) (map[string]any, error)
	flags             []string // names of covenantFlags
	echo              []string // fields that --json repeats
	show              func(a *app, answer json.RawMessage) error
}

func (a *app) covenant() *cobra.Command {
	var t covenantTarget
	root := &cobra.Command{Use: "covenant", Short: "Speak to the Covenant surface of the node on this host"}
	t.flags(root)
	groups := map[string]*cobra.Command{"": root}
	for _, g := range [][2]string{{"memory", "Read and purge memories"}, {"capabilities", "Grant, list, revoke and purge capabilities"}, {"receipts", "Show receipts"},
		{"audit", "Read, check and purge the audit log"}, {"ignore", "Try the ignore rules"}, {"tools", "List and call tools"}, {"a2a", "List the tasks of the mailbox; release or end those whose worker died"},
		{"peers", "Enrol, list, revoke and purge peers"}} {
		groups[g[0]] = &cobra.Command{Use: g[0], Short: g[1]}
		root.AddCommand(groups[g[0]])
	}
	for _, v := range covenantVerbs {
		groups[v.group].AddCommand(a.covenantCommand(&t, v))
	}
	return root
}

func (a *app) covenantCommand(t *covenantTarget, v covenantVerb) *cobra.Command {
	given := covenantFlags{}
	c := &cobra.Command{Use: v.use, Short: v.short, Args: v.args}
	given.add(c, v.flags)
	c.RunE = func(c *cobra.Command, args []string) error {
		request := map[string]any{}
		if v.fields != nil {
			var err error
			if request, err = v.fields(args); err != nil {
				return cli.Usage(err)
			}
		}
		if err := given.fill(c, request); err != nil {
			return cli.Usage(err)
		}
		request["kind"] = v.kind
		return t.ask(c.Context(), request, func(answer json.RawMessage) error {
			if t.asJSON {
				if err := a.covenantJSON(v, request, answer); err != nil {
					return err
				}
				return covenantVerdict(answer)
			}
			if err := v.show(a, answer); err != nil {
				return err
			}
			return covenantVerdict(answer)
		})
	}
	return c
}

// covenantJSON prints an answer in its envelope.
func (a *app) covenantJSON(v covenantVerb, request map[string]any, answer json.RawMessage) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(answer, &m); err != nil {
		return err
	}
	for _, name := range v.echo {
		if x, ok := request[name]; ok {
			b, err := json.Marshal(x)
			if err != nil {
				return err
			}
			m[name] = b
		}
	}
	if v.envelope != "" {
		m["kind"] = json.RawMessage(fmt.Sprintf("%q", v.envelope))
	}
	return a.JSON(m)
}

// covenantVerdict is what an answer says about the exit code: drift is a failure although the call was none.
func covenantVerdict(answer json.RawMessage) error {
	var r struct {
		Kind    string
		Orphans uint64 `json:"orphans_total"`
		Report  struct{ Valid bool }
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return err
	}
	if r.Kind == "verify_report" && r.Orphans > 0 {
		return fmt.Errorf("%d orphan(s)", r.Orphans)
	}
	if r.Kind == "audit_integrity" && !r.Report.Valid {
		return fmt.Errorf("the audit chain is broken")
	}
	return nil
}

// covenantFlags are the values of the flags that a verb takes.
type covenantFlags struct {
	tier                              string
	limit, before, since, window      uint64
	relevance                         float64
	stream                            bool
	scope                             string
	expires, leaseAge, deadlineWithin uint64
	state                             string
	olderMS                           uint64
}

func (g *covenantFlags) add(c *cobra.Command, names []string) {
	f := c.Flags()
	for _, n := range names {
		switch n {
		case "tier":
			f.StringVar(&g.tier, n, "", "working, episodic or longterm")
		case "limit":
			f.Uint64VarP(&g.limit, n, "n", 10, "how many")
		case "before-ms":
			f.Uint64Var(&g.before, n, 0, "up to this time, in Unix milliseconds")
			f.Uint64Var(&g.olderMS, "older-than-ms", 0, "up to so many milliseconds ago")
		case "since-ms":
			f.Uint64Var(&g.since, n, 0, "from this time on, in Unix milliseconds")
		case "window":
			f.Uint64Var(&g.window, n, 100, "how many of the newest rows are looked at")
		case "min-relevance":
			f.Float64Var(&g.relevance, n, 0, "least score, 0 to 1")
		case "stream":
			f.BoolVar(&g.stream, n, false, "take the answer as a stream")
		case "scope":
			f.StringVar(&g.scope, n, "", "JSON object that narrows the capability")
			f.Uint64Var(&g.expires, "expires-at", 0, "end of its validity, in Unix milliseconds")
		case "queue":
			f.Uint64Var(&g.leaseAge, "min-lease-age-ms", 0, "only leases at least so old")
			f.Uint64Var(&g.deadlineWithin, "deadline-within-ms", 0, "only tasks due so soon")
			f.StringVar(&g.state, "state", "", "queued or in_flight")
		}
	}
}

// fill puts the flags that were given into the request.
func (g *covenantFlags) fill(c *cobra.Command, request map[string]any) error {
	for flag, field := range map[string]struct {
		name  string
		value any
	}{
		"tier": {"tier", g.tier}, "limit": {"limit", g.limit}, "before-ms": {"before_ms", g.before}, "since-ms": {"since_ms", g.since},
		"window": {"window", g.window}, "min-relevance": {"min_relevance", g.relevance}, "stream": {"prefer_stream", g.stream},
		"expires-at": {"expires_at", g.expires}, "min-lease-age-ms": {"min_lease_age_ms", g.leaseAge},
		"deadline-within-ms": {"deadline_within_ms", g.deadlineWithin}, "state": {"state_filter", g.state},
	} {
		if f := c.Flags().Lookup(flag); f != nil && (f.Changed || flag == "limit" || flag == "window") {
			request[field.name] = field.value
		}
	}
	if f := c.Flags().Lookup("older-than-ms"); f != nil {
		if f.Changed == c.Flags().Changed("before-ms") {
			return fmt.Errorf("give one of --before-ms and --older-than-ms")
		}
		if now := uint64(time.Now().UnixMilli()); f.Changed {
			request["before_ms"] = now - min(now, g.olderMS)
		}
	}
	if f := c.Flags().Lookup("scope"); f != nil && f.Changed {
		if !json.Valid([]byte(g.scope)) {
			return fmt.Errorf("--scope is not JSON")
		}
		request["scope"] = json.RawMessage(g.scope)
	}
	switch t, _ := request["tier"].(string); t {
	case "", "working", "episodic", "longterm":
		return nil
	default:
		return fmt.Errorf("--tier %s: want working, episodic or longterm", t)
	}
}

// oneText is the request of a verb whose words are one field.
func oneText(name string) func([]string) (map[string]any, error) {
	return func(args []string) (map[string]any, error) {
		return map[string]any{name: strings.Join(args, " ")}, nil
	}
}
