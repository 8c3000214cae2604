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
	envelope          string // kind of the answer with --json, where it is not the answer's own
	args              cobra.PositionalArgs
	fields            func(args []string) (map[string]any, error)
	flags             []string // sets of covenantSets
	echo              []string // fields that --json repeats
	show              string   // template of the answer for people
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
	for _, set := range v.flags {
		covenantSets[set](c.Flags())
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		request := map[string]any{}
		if v.fields != nil {
			var err error
			if request, err = v.fields(args); err != nil {
				return cli.Usage(err)
			}
		}
		if err := fillCovenant(c, request); err != nil {
			return cli.Usage(err)
		}
		request["kind"] = v.kind
		return t.ask(c.Context(), request, func(answer json.RawMessage) error {
			if t.asJSON {
				return errors.Join(a.covenantJSON(v, request, answer), covenantVerdict(answer, true))
			}
			return errors.Join(a.Fill(v.show, answer), covenantVerdict(answer, false))
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

// covenantVerdict is what an answer says about the exit code: drift is a failure although the call was none. So is a
// tool that failed, which --json shows in its answer instead.
func covenantVerdict(answer json.RawMessage, asJSON bool) error {
	var r struct {
		Kind       string
		Orphans    uint64 `json:"orphans_total"`
		Report     struct{ Valid bool }
		ToolFailed bool `json:"is_error"`
	}
	err := json.Unmarshal(answer, &r)
	switch {
	case err != nil:
		return err
	case r.Kind == "verify_report" && r.Orphans > 0:
		return fmt.Errorf("%d orphan(s)", r.Orphans)
	case r.Kind == "audit_integrity" && !r.Report.Valid:
		return errors.New("the audit chain is broken")
	case r.ToolFailed && !asJSON:
		return errors.New("the tool failed")
	}
	return nil
}

// covenantSets are sets of flags, each for a field of requests that has its name, but for those that fillCovenant knows. Verbs name sets.
var covenantSets = map[string]func(*pflag.FlagSet){
	"tier":          func(f *pflag.FlagSet) { f.String("tier", "", "working, episodic or longterm") },
	"limit":         func(f *pflag.FlagSet) { f.Uint64P("limit", "n", 10, "how many") },
	"since-ms":      func(f *pflag.FlagSet) { f.Uint64("since-ms", 0, "from this time on, in Unix milliseconds") },
	"window":        func(f *pflag.FlagSet) { f.Uint64("window", 100, "how many of the newest rows are looked at") },
	"min-relevance": func(f *pflag.FlagSet) { f.Float64("min-relevance", 0, "least score, 0 to 1") },
	"stream":        func(f *pflag.FlagSet) { f.Bool("stream", false, "take the answer as a stream") },
	"before-ms": func(f *pflag.FlagSet) {
		f.Uint64("before-ms", 0, "up to this time, in Unix milliseconds")
		f.Uint64("older-than-ms", 0, "up to so many milliseconds ago")
	},
	"scope": func(f *pflag.FlagSet) {
		f.String("scope", "", "JSON object that narrows the capability")
		f.Uint64("expires-at", 0, "end of its validity, in Unix milliseconds")
	},
	"queue": func(f *pflag.FlagSet) {
		f.Uint64("min-lease-age-ms", 0, "only leases at least so old")
		f.Uint64("deadline-within-ms", 0, "only tasks due so soon")
		f.String("state", "", "queued or in_flight")
	},
}

// fillCovenant puts the flags of a verb's sets that were given into the request; a limit and a window are always sent.
func fillCovenant(c *cobra.Command, request map[string]any) (err error) {
	f := c.LocalNonPersistentFlags()
	if f.Lookup("older-than-ms") != nil && f.Changed("older-than-ms") == f.Changed("before-ms") {
		return errors.New("give one of --before-ms and --older-than-ms")
	}
	f.VisitAll(func(flag *pflag.Flag) {
		text := flag.Value.String()
		switch {
		case err != nil || flag.Name == "help" || !flag.Changed && flag.Name != "limit" && flag.Name != "window":
		case flag.Name == "older-than-ms":
			var older uint64
			if older, err = f.GetUint64(flag.Name); err == nil {
				now := uint64(time.Now().UnixMilli())
				request["before_ms"] = now - min(now, older)
			}
		case flag.Name == "scope":
			if !json.Valid([]byte(text)) {
				err = errors.New("--scope is not JSON")
			}
			request["scope"] = json.RawMessage(text)
		case flag.Name == "tier" && !slices.Contains([]string{"", "working", "episodic", "longterm"}, text):
			err = fmt.Errorf("--tier %s: want working, episodic or longterm", text)
		case flag.Value.Type() == "string":
			request[cmp.Or(covenantFields[flag.Name], flag.Name)] = text
		default: // a number, true or false
			request[cmp.Or(covenantFields[flag.Name], strings.ReplaceAll(flag.Name, "-", "_"))] = json.RawMessage(text)
		}
	})
	return err
}

// covenantFields are the fields that have not the name of their flag.
var covenantFields = map[string]string{"state": "state_filter", "stream": "prefer_stream"}

// oneText is the request of a verb whose words are one field.
func oneText(name string) func([]string) (map[string]any, error) {
	return func(args []string) (map[string]any, error) {
		return map[string]any{name: strings.Join(args, " ")}, nil
	}
}
