package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	cli.HomeFlag(f, &t.home, "data directory of the node on this host")
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
	flags             []string // sets of covenantFlags
	echo              []string // fields that --json repeats
	show              string   // what a person is shown of the answer, a template
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
	c := &cobra.Command{Use: v.use, Short: v.short, Args: v.args}
	addCovenantFlags(c.Flags(), v.flags)
	c.RunE = func(c *cobra.Command, args []string) error {
		request := map[string]any{}
		if v.fields != nil {
			var err error
			if request, err = v.fields(args); err != nil {
				return cli.Usage(err)
			}
		}
		if err := fillCovenant(c.Flags(), request); err != nil {
			return cli.Usage(err)
		}
		request["kind"] = v.kind
		return t.ask(c.Context(), request, func(answer json.RawMessage) error {
			if t.asJSON {
				return errors.Join(a.covenantJSON(v, request, answer), covenantVerdict(answer))
			}
			return errors.Join(a.Fill(v.show, answer), covenantVerdict(answer), toolFailed(answer))
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

// toolFailed is the failure of a tool that was called, which --json shows in its answer.
func toolFailed(answer json.RawMessage) error {
	var r struct {
		Failed bool `json:"is_error"`
	}
	if err := json.Unmarshal(answer, &r); err != nil || !r.Failed {
		return err
	}
	return errors.New("the tool failed")
}

// A covenantFlag gives a field of requests. Verbs name sets of flags.
type covenantFlag struct {
	set, name, short, field string
	def                     any // without the flag: a string, a number or false
	usage                   string
}

var covenantFlags = []covenantFlag{
	{"tier", "tier", "", "tier", "", "working, episodic or longterm"},
	{"limit", "limit", "n", "limit", uint64(10), "how many"},
	{"before-ms", "before-ms", "", "before_ms", uint64(0), "up to this time, in Unix milliseconds"},
	{"before-ms", "older-than-ms", "", "", uint64(0), "up to so many milliseconds ago"},
	{"since-ms", "since-ms", "", "since_ms", uint64(0), "from this time on, in Unix milliseconds"},
	{"window", "window", "", "window", uint64(100), "how many of the newest rows are looked at"},
	{"min-relevance", "min-relevance", "", "min_relevance", 0.0, "least score, 0 to 1"},
	{"stream", "stream", "", "prefer_stream", false, "take the answer as a stream"},
	{"scope", "scope", "", "", "", "JSON object that narrows the capability"},
	{"scope", "expires-at", "", "expires_at", uint64(0), "end of its validity, in Unix milliseconds"},
	{"queue", "min-lease-age-ms", "", "min_lease_age_ms", uint64(0), "only leases at least so old"},
	{"queue", "deadline-within-ms", "", "deadline_within_ms", uint64(0), "only tasks due so soon"},
	{"queue", "state", "", "state_filter", "", "queued or in_flight"},
}

// addCovenantFlags adds the flags of some sets.
func addCovenantFlags(f *pflag.FlagSet, sets []string) {
	for _, flag := range covenantFlags {
		if !slices.Contains(sets, flag.set) {
			continue
		}
		switch def := flag.def.(type) {
		case string:
			f.StringP(flag.name, flag.short, def, flag.usage)
		case uint64:
			f.Uint64P(flag.name, flag.short, def, flag.usage)
		case float64:
			f.Float64P(flag.name, flag.short, def, flag.usage)
		case bool:
			f.BoolP(flag.name, flag.short, def, flag.usage)
		}
	}
}

// fillCovenant puts the flags that were given into the request; a limit and a window are always sent.
func fillCovenant(f *pflag.FlagSet, request map[string]any) error {
	given := map[string]string{}
	for _, flag := range covenantFlags {
		is := f.Lookup(flag.name)
		if is == nil || !is.Changed && flag.name != "limit" && flag.name != "window" {
			continue
		}
		given[flag.name] = is.Value.String()
		if _, text := flag.def.(string); text && flag.field != "" {
			request[flag.field] = is.Value.String()
		} else if flag.field != "" {
			request[flag.field] = json.RawMessage(is.Value.String()) // a number, true or false
		}
	}
	if f.Lookup("older-than-ms") != nil {
		if f.Changed("older-than-ms") == f.Changed("before-ms") {
			return errors.New("give one of --before-ms and --older-than-ms")
		}
		if older, err := f.GetUint64("older-than-ms"); err == nil && f.Changed("older-than-ms") {
			now := uint64(time.Now().UnixMilli())
			request["before_ms"] = now - min(now, older)
		}
	}
	if scope, has := given["scope"]; has {
		if !json.Valid([]byte(scope)) {
			return errors.New("--scope is not JSON")
		}
		request["scope"] = json.RawMessage(scope)
	}
	if tier := given["tier"]; !slices.Contains([]string{"", "working", "episodic", "longterm"}, tier) {
		return fmt.Errorf("--tier %s: want working, episodic or longterm", tier)
	}
	return nil
}

// oneText is the request of a verb whose words are one field.
func oneText(name string) func([]string) (map[string]any, error) {
	return func(args []string) (map[string]any, error) {
		return map[string]any{name: strings.Join(args, " ")}, nil
	}
}
