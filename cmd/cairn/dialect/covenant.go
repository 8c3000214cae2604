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
	"github.com/cairndb/cairn/local/kit"
)

// covenantTarget holds the flags that select the Covenant socket.
type covenantTarget struct {
	home, covenantHome string
	timeout            time.Duration
}

func (t *covenantTarget) flags(c *cobra.Command) {
	f := c.PersistentFlags()
	cli.HomeFlag(f, &t.home, "data directory of the node on this host")
	f.StringVar(&t.covenantHome, "covenant-home", os.Getenv("COVENANT_HOME"),
		"directory of the socket and the token (or COVENANT_HOME); HOME/run/covenant by default")
	f.Bool("json", false, "print JSON")
	f.DurationVar(&t.timeout, "timeout", 15*time.Second, "how long to wait for an answer")
}

// ask sends a request and returns the answer, with the error from covenantVerdict.
func (t *covenantTarget) ask(of *cobra.Command, request any) (answer json.RawMessage, err error) {
	ctx, cancel := context.WithTimeout(of.Context(), t.timeout)
	defer cancel()
	c, err := covenant.Dial(ctx, cmp.Or(t.covenantHome, filepath.Join(t.home, "run", "covenant")))
	if err != nil {
		return nil, cli.Hint(err, "check that a node runs on this host; name its directory with --home or --covenant-home")
	}
	defer c.Close()
	err = c.Call(request, func(a json.RawMessage) error { answer = a; return covenantVerdict(a) })
	return answer, err
}

// covenantVerbs lists the requests with their own verbs. The verb call sends any other request.
var covenantVerbs = []verb{
	{use: "intent TEXT", short: "Submit an intent", args: cobra.MinimumNArgs(1),
		request: textRequest("submit_intent", "text"), template: "{{.text}}\n"},
	{use: "search QUERY", short: "Search memories", args: cobra.MinimumNArgs(1),
		request: textRequest("search_memory", "query"), flags: func(f *pflag.FlagSet) {
			f.String("tier", "", "working, episodic or longterm")
			f.Uint64P("limit", "n", 10, "how many")
		}, template: "{{range .records}}[{{.created_at}}] {{.tier}}: {{.text}}\n{{end}}"},
	{use: "grant ACTION", short: "Grant a capability, and print its signature",
		args: cobra.ExactArgs(1), request: textRequest("grant_capability", "action"), flags: func(f *pflag.FlagSet) {
			f.Uint64("expires-at", 0, "end of its validity, in Unix milliseconds")
		}, template: "{{.subject_display}} → {{.action}}  {{.signature_b58}}\n"},
	{use: "enroll NAME@HOST [ACTION...]", short: "Make an identity with a token and capabilities",
		args: cobra.MinimumNArgs(1),
		request: func(_ *pflag.FlagSet, args []string) (any, error) {
			if name, host, ok := strings.Cut(args[0], "@"); !ok || name == "" || host == "" {
				return nil, cli.Usagef("an identity is called NAME@HOST, such as reviewer@local, got %q", args[0])
			}
			return map[string]any{"kind": "enroll_peer", "display": args[0], "actions": append([]string{}, args[1:]...)}, nil
		}, template: "{{.display}} has the token {{.token_b58}}\n"},
	{use: "verify", short: "Compare memories, receipts, capabilities and audit", args: cobra.NoArgs,
		request: textRequest("verify", ""), flags: func(f *pflag.FlagSet) {
			f.Uint64("window", 100, "how many of the newest rows are looked at")
		}, template: "{{range .checks}}{{if .passed}}ok{{else}}DRIFT{{end}} {{.name}}: {{.message}}\n{{end}}" +
			"{{range .drift}}  {{.kind}} {{or .id \"\"}}: {{.message}}; {{.repair}}\n{{end}}"},
	{use: "call KIND [FIELDS]", short: "Send any request, its fields as JSON, and print the answer",
		args: cobra.RangeArgs(1, 2), request: anyRequest, validArgs: verbs.Kinds(),
		details: "Kinds: " + strings.Join(verbs.Kinds(), ", ") + ".",
		example: "  cairn covenant call recent_memory '{\"limit\": 5}'\n  cairn covenant call verify_audit_integrity\n  cairn covenant call call_tool '{\"name\": \"clock\"}'"},
}

// Covenant returns the command `cairn covenant`.
func Covenant(s *cli.Streams) *cobra.Command {
	var t covenantTarget
	root := &cobra.Command{Use: "covenant", Short: "Send requests to Covenant on the node of this host: call, enroll, grant, intent, search, verify"}
	t.flags(root)
	for _, v := range covenantVerbs {
		root.AddCommand(v.command(s, t.ask))
	}
	return root
}

// covenantVerdict returns an error for an answer that must fail the command although the call succeeded: drift, a
// broken audit, or a failed tool.
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

// textRequest builds requests of a kind whose arguments are the words of one field; a blank name means no such field.
// Flags are fields too, sent if they are given or have a default.
func textRequest(kind, name string) func(*pflag.FlagSet, []string) (any, error) {
	return func(flags *pflag.FlagSet, args []string) (any, error) {
		request := map[string]any{"kind": kind}
		if name != "" {
			request[name] = strings.Join(args, " ")
		}
		flags.VisitAll(func(f *pflag.Flag) {
			name := strings.ReplaceAll(f.Name, "-", "_")
			switch {
			case f.Name == "help" || !f.Changed && (f.DefValue == "" || f.DefValue == "0"):
			case f.Value.Type() == "string":
				request[name] = f.Value.String()
			default:
				request[name] = json.RawMessage(f.Value.String())
			}
		})
		return request, nil
	}
}

// anyRequest builds a request from a kind and a JSON object of fields.
func anyRequest(_ *pflag.FlagSet, args []string) (any, error) {
	request := map[string]json.RawMessage{}
	if len(args) == 2 {
		if err := json.Unmarshal([]byte(args[1]), &request); err != nil || request == nil {
			return nil, cli.Usagef("%s is not a JSON object", args[1])
		}
	}
	request["kind"] = kit.MustJSON(args[0])
	return request, nil
}
