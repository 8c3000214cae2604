package dialect

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/local/covenant/verbs"
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
	f.StringVar(&t.covenantHome, "covenant-home", os.Getenv("COVENANT_HOME"),
		"directory of the socket and the token (or COVENANT_HOME); HOME/run/covenant by default")
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
// Each of its flags is a field, sent when the flag is given or has a default.
type covenantVerb struct {
	use, short, example string
	kind                string // the first argument, where there is none
	args                cobra.PositionalArgs
	fields              func(args []string, request map[string]any) error
	flags               func(*pflag.FlagSet)
	show                string // template of the answer for people; JSON without one
}

// covenantVerbs lists the requests that people send by hand; the verb call sends all others.
var covenantVerbs = []covenantVerb{
	{use: "intent TEXT", short: "Submit an intent", kind: "submit_intent", args: cobra.MinimumNArgs(1),
		fields: oneText("text"), show: "{{.text}}\n"},
	{use: "search QUERY", short: "Search memories", kind: "search_memory", args: cobra.MinimumNArgs(1),
		fields: oneText("query"), flags: func(f *pflag.FlagSet) {
			f.String("tier", "", "working, episodic or longterm")
			f.Uint64P("limit", "n", 10, "how many")
		}, show: "{{range .records}}[{{.created_at}}] {{.tier}}: {{.text}}\n{{end}}"},
	{use: "grant ACTION", short: "Grant a capability, and print its signature", kind: "grant_capability",
		args: cobra.ExactArgs(1), fields: oneText("action"), flags: func(f *pflag.FlagSet) {
			f.Uint64("expires-at", 0, "end of its validity, in Unix milliseconds")
		}, show: "{{.subject_display}} → {{.action}}  {{.signature_b58}}\n"},
	{use: "enroll NAME@HOST [ACTION...]", short: "Make an identity with a token and capabilities", kind: "enroll_peer",
		args: cobra.MinimumNArgs(1),
		fields: func(args []string, request map[string]any) error {
			if name, host, ok := strings.Cut(args[0], "@"); !ok || name == "" || host == "" {
				return fmt.Errorf("an identity is called NAME@HOST, such as reviewer@local, got %q", args[0])
			}
			request["display"], request["actions"] = args[0], append([]string{}, args[1:]...)
			return nil
		}, show: "{{.display}} has the token {{.token_b58}}\n"},
	{use: "verify", short: "Compare memories, receipts, capabilities and audit", kind: "verify", args: cobra.NoArgs,
		flags: func(f *pflag.FlagSet) {
			f.Uint64("window", 100, "how many of the newest rows are looked at")
		}, show: "{{range .checks}}{{if .passed}}ok{{else}}DRIFT{{end}} {{.name}}: {{.message}}\n{{end}}" +
			"{{range .drift}}  {{.kind}} {{or .id \"\"}}: {{.message}}; {{.repair}}\n{{end}}"},
	{use: "call KIND [FIELDS]", short: "Send any request, its fields as JSON, and print the answer",
		args: cobra.RangeArgs(1, 2), fields: anyRequest,
		example: "  cairn covenant call recent_memory '{\"limit\": 5}'\n  cairn covenant call verify_audit_integrity\n  cairn covenant call call_tool '{\"name\": \"clock\"}'"},
}

// Covenant is `cairn covenant`.
func Covenant(s *cli.Streams) *cobra.Command {
	var t covenantTarget
	root := &cobra.Command{Use: "covenant", Short: "Speak to the Covenant surface of the node on this host"}
	t.flags(root)
	for _, v := range covenantVerbs {
		root.AddCommand(covenantCommand(s, &t, v))
	}
	return root
}

func covenantCommand(s *cli.Streams, t *covenantTarget, v covenantVerb) *cobra.Command {
	c := &cobra.Command{Use: v.use, Short: v.short, Example: v.example, Args: v.args}
	if v.kind == "" {
		c.ValidArgs = verbs.Kinds()
		c.Long = v.short + ".\n\nKinds: " + strings.Join(c.ValidArgs, ", ") + "."
	}
	if v.flags != nil {
		v.flags(c.Flags())
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		request := map[string]any{"kind": v.kind}
		if v.fields != nil {
			if err := v.fields(args, request); err != nil {
				return cli.Usage(err)
			}
		}
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			name := strings.ReplaceAll(f.Name, "-", "_")
			switch {
			case f.Name == "help" || !f.Changed && (f.DefValue == "" || f.DefValue == "0"):
			case f.Value.Type() == "string":
				request[name] = f.Value.String()
			default:
				request[name] = json.RawMessage(f.Value.String())
			}
		})
		return t.ask(c.Context(), request, func(answer json.RawMessage) error {
			if t.asJSON || v.show == "" {
				return errors.Join(s.JSON(answer), covenantVerdict(answer))
			}
			return errors.Join(s.Fill(v.show, answer), covenantVerdict(answer))
		})
	}
	return c
}

// covenantVerdict returns an error for an answer that must change the exit code: drift is a failure although the call
// succeeded, and so are a broken audit and a tool that failed.
func covenantVerdict(answer json.RawMessage) error {
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
	case r.ToolFailed:
		return errors.New("the tool failed")
	}
	return nil
}

// oneText is the request of a verb whose words are one field.
func oneText(name string) func([]string, map[string]any) error {
	return func(args []string, request map[string]any) error {
		request[name] = strings.Join(args, " ")
		return nil
	}
}

// anyRequest is a request of a kind and of fields that are both named.
func anyRequest(args []string, request map[string]any) error {
	if len(args) == 2 {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal([]byte(args[1]), &fields); err != nil || fields == nil {
			return fmt.Errorf("%s is not a JSON object", args[1])
		}
		for name, value := range fields {
			request[name] = value
		}
	}
	request["kind"] = args[0]
	return nil
}
