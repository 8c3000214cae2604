package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// A verb describes the command for one operation.
type verb struct {
	group        string // the parent command; blank: none
	use          string
	op           *api.Op
	args         []string           // request fields of the arguments, in order; those in brackets in use are optional
	fixed        map[string]string  // request fields with a fixed value
	flagNames    map[string]string  // flag names, by field, that differ from the field's name
	omit         []string           // request fields without a flag
	rowsField    string             // the answer's field to print, or a|b for the one that is present; blank: the answer itself
	columns      []string           // fields to print, as columns of a list or lines of an object; nil: all
	message      string             // printed instead of the answer
	listsToCheck bool               // print the answer's relations_to_check after it
	textField    string             // the answer's field to print verbatim
	alternatives []alternative      // other operations, selected by a flag
	question     func(Given) string // asked before execution unless --yes is given; nil: none
	idempotent   bool               // safe to repeat: sent over the wire protocol, whose client retries until a leader answers
	short        string             // blank: the operation's description
	long         string
	example      string
	rowOptions

	extend func(*cli.Streams, *cobra.Command, *cli.Target) // customizes the command; nil: no change
}

// rowOptions selects which rows a call of a verb requests, and how they are printed.
type rowOptions struct {
	idsOnly bool // set by --quiet
	maxRows int  // 0: no limit

	fullColumns []string // further columns with --full
}

// An alternative is an operation that replaces the verb's own when its flag is given.
type alternative struct {
	flag    field.Field // the field of the flag that selects it
	op      *api.Op
	rows    string
	renames map[string]string // maps the verb's fields to other names in this operation
}

// Commands returns the commands of all verbs in this package.
func Commands(s *cli.Streams) (all []*cobra.Command) {
	below := map[string]*cobra.Command{}
	for _, v := range verbs() {
		c := v.command(s)
		if v.group == "" {
			all = append(all, c)
			continue
		}
		if below[v.group] == nil {
			below[v.group] = &cobra.Command{Use: v.group, Short: groupHelp[v.group]}
			all = append(all, below[v.group])
		}
		below[v.group].AddCommand(c)
	}
	return append(all, recall(s))
}

func (v verb) command(s *cli.Streams) *cobra.Command {
	var t cli.Target
	c := &cobra.Command{Use: v.use, Short: cmp.Or(v.short, strings.TrimSuffix(v.op.Does, ".")), Example: v.example,
		Args: cobra.RangeArgs(len(v.args)-strings.Count(v.use, "["), len(v.args))}
	if strings.HasSuffix(v.use, "...") {
		c.Args = cobra.MinimumNArgs(len(v.args))
	}
	long := v.long
	for _, f := range v.op.Takes() {
		if f.Kind.RID && slices.Contains(v.args, f.Name) && strings.Contains(v.use, "RID") {
			long = strings.TrimSpace(long + "\n\nThe beginning of an id stands for it too, and so does its number, as '#812'.")
		}
	}
	if args := v.arguments(); args != "" {
		long = strings.TrimLeft(long+"\n\n"+args, "\n") // keeps the indentation of the first argument
	}
	if long != "" {
		c.Long = c.Short + ".\n\n" + long
	}
	t.Flags(c)
	t.DatabaseFlag(c)
	given := Given{}
	for _, f := range v.flags() {
		addFlag(c.Flags(), v.flag(f), f, given)
	}
	yes := v.question == nil
	if !yes {
		c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	}
	if v.rowsField != "" {
		c.Flags().BoolVarP(&v.idsOnly, "quiet", "q", false, "print ids alone, a line each")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := v.joinText(c.Context(), s, args)
		if err != nil {
			return err
		}
		v, given, err := v.withAlternative(given)
		if err == nil {
			err = v.complete(given, args)
		}
		if err != nil {
			return cli.Usage(err)
		}
		if !yes {
			if err := s.Confirm(c.Context(), v.question(given), "nothing was done"); err != nil {
				return err
			}
		}
		return addMissingName(v.execute(c.Context(), s, &t, given), args)
	}
	if v.extend != nil {
		v.extend(s, c, &t)
	}
	return c
}

// arguments returns a help line for each argument that is not the id of a memory.
func (v verb) arguments() string {
	var lines []string
	width := 0
	words := strings.Fields(v.use)[1:]
	for i := range words {
		words[i] = strings.Trim(words[i], "[].")
		width = max(width, len(words[i]))
	}
	for i, word := range words {
		if f := v.op.Takes().Named(v.args[i]); !f.Kind.RID {
			lines = append(lines, fmt.Sprintf("  %-*s  %s", width, word, f.Doc))
		}
	}
	return strings.Join(lines, "\n")
}

// execute executes the operation and prints the answer.
func (v verb) execute(ctx context.Context, s *cli.Streams, t *cli.Target, given Given) error {
	v.maxRows = v.limit(given)
	if slices.Equal(given["full"], []string{"true"}) {
		v.columns = slices.Concat(v.columns, v.fullColumns)
	}
	if v.idempotent {
		return t.With(ctx, func(ctx context.Context, cl *client.Client) error {
			err := v.resolveIDs(given, func(short []string, a *api.IDsAnswer) error {
				return cl.Query(ctx, api.IDs.Name, map[string]any{"short": short}, a)
			})
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := cl.Repeat(ctx, v.op.Name, given.Body(v.op.Takes()), &raw); err != nil {
				return err
			}
			return v.printAnswer(s, t.JSON, raw)
		})
	}
	if err := v.resolveIDs(given, gatewayIDs(ctx, t)); err != nil {
		return err
	}
	switch v.op {
	case api.Think.Op:
		return think(ctx, s, t, v, given)
	case api.Events.Op:
		path, _ := v.request(given)
		return watch(ctx, s, t, t.WithDatabase(path))
	}
	var raw json.RawMessage
	if err := v.get(ctx, t, given, &raw); err != nil {
		return err
	}
	return v.printAnswer(s, t.JSON, raw)
}

// errNotFound is returned when the answer says that nothing was found.
var errNotFound = errors.New("there is nothing with this id or key")

// addMissingName adds the first argument, an id or a key, to a not-found error whose text does not contain it.
func addMissingName(err error, args []string) error {
	var e *cli.HTTPError
	missing := errors.Is(err, errNotFound) || errors.As(err, &e) && e.Status == http.StatusNotFound
	if !missing || len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(err.Error(), arg) }) {
		return err
	}
	return fmt.Errorf("%w: %s", err, args[0])
}

// gatewayIDs returns a function that requests the full ids for short ones from the gateway.
func gatewayIDs(ctx context.Context, t *cli.Target) func(short []string, a *api.IDsAnswer) error {
	return func(short []string, a *api.IDsAnswer) error {
		return t.Get(ctx, api.IDs.Method(), t.WithDatabase(api.IDs.Path()+"?"+url.Values{"short": short}.Encode()), nil, a)
	}
}

// withAlternative replaces the verb's operation if a flag selects an alternative. It returns the flags under the
// field names of that operation.
func (v verb) withAlternative(given Given) (verb, Given, error) {
	for _, o := range v.alternatives {
		if len(given[o.flag.Name]) == 0 {
			continue
		}
		renamed := Given{}
		for name, texts := range given {
			to := cmp.Or(o.renames[name], name)
			if !slices.ContainsFunc(o.op.Takes(), func(f field.Field) bool { return f.Name == to }) {
				return v, nil, fmt.Errorf("--%s does not go with --%s", v.flag(field.Field{Name: name}), v.flag(o.flag))
			}
			renamed[to] = texts
		}
		v.op, v.rowsField = o.op, o.rows
		return v, renamed, nil
	}
	return v, given, nil
}

// joinText joins the words of a last argument "TEXT..." to one text, and reads it from standard input if it is "-".
// It returns the arguments of other verbs unchanged.
func (v verb) joinText(ctx context.Context, s *cli.Streams, args []string) ([]string, error) {
	last := len(v.args) - 1
	if !strings.HasSuffix(v.use, "...") || v.op.Takes().Named(v.args[last]).Kind.Item != nil { // each argument is one item of a list
		return args, nil
	}
	text := strings.Join(args[last:], " ")
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(s.Input(ctx), 2*oplog.MaxText))
		if err != nil {
			return nil, err
		}
		if len(b) == 2*oplog.MaxText {
			return nil, fmt.Errorf("standard input has over %d bytes: a text has at most %d", len(b), oplog.MaxText)
		}
		text = strings.TrimRight(string(b), "\n")
	}
	return append(slices.Clone(args[:last]), text), nil
}

// flags returns the request fields that are flags.
func (v verb) flags() (list field.Object) {
	for _, f := range v.op.Takes() {
		if _, fixed := v.fixed[f.Name]; !fixed && !f.Idle && !slices.Contains(v.args, f.Name) && !slices.Contains(v.omit, f.Name) {
			list = append(list, f)
		}
	}
	for _, o := range v.alternatives {
		list = append(list, o.flag)
	}
	return list
}

// flag returns the name of a field's flag.
func (v verb) flag(f field.Field) string {
	return cmp.Or(v.flagNames[f.Name], usualFlagNames[f.Name], strings.ReplaceAll(f.Name, "_", "-"))
}

// complete adds the arguments and the verb's fixed fields to the given flags. It returns an error for an invalid
// argument or a missing required field.
func (v verb) complete(given Given, args []string) error {
	for i, text := range args {
		name := v.args[min(i, len(v.args)-1)]
		given[name] = append(given[name], text)
	}
	for name, text := range v.fixed {
		given[name] = []string{text}
	}
	if v.op == api.Remember.Op && len(given["idempotency_key"]) == 0 {
		given["idempotency_key"] = []string{client.NewKey()}
	}
	for _, f := range v.op.Takes() {
		for _, text := range given[f.Name] {
			if slices.Contains(v.args, f.Name) && strings.TrimSpace(text) == "" {
				return fmt.Errorf("%s is blank: %s", f.Name, f.Phrase())
			}
			if err := check(f, f.Name, text); err != nil {
				return err
			}
		}
		if f.Must && len(given[f.Name]) == 0 {
			return fmt.Errorf("--%s is missing: %s", v.flag(f), f.Phrase())
		}
	}
	return nil
}

// resolveIDs replaces short ids in the given values with full ids.
func (v verb) resolveIDs(given Given, ask func(short []string, a *api.IDsAnswer) error) error {
	var names, short []string
	var at []*string
	for _, f := range v.op.Takes() {
		given[f.Name] = slices.Clone(given[f.Name])
		for i, text := range given[f.Name] {
			if api.MayBeShort(f, text) {
				names, short, at = append(names, f.Name), append(short, text), append(at, &given[f.Name][i])
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	a := &api.IDsAnswer{}
	if err := ask(short, a); err != nil {
		return err
	}
	for i, name := range names {
		id, err := a.Whole(i, name, short[i])
		if err != nil {
			return err
		}
		*at[i] = id
	}
	return nil
}

// get executes the operation over HTTP.
func (v verb) get(ctx context.Context, t *cli.Target, given Given, answer any) error {
	path, body := v.request(given)
	return t.Get(ctx, v.op.Method(), t.WithDatabase(path), body, answer)
}

// request returns the path with its parameters, and the body; nil for none.
func (v verb) request(given Given) (path string, body any) {
	path = v.op.Path()
	for _, f := range v.op.InPath() {
		path = strings.ReplaceAll(path, "{"+f.Name+"}", url.PathEscape(given[f.Name][0]))
	}
	if v.op.Method() == "GET" {
		params := url.Values{}
		for _, f := range v.op.InQuery() {
			if texts := given[f.Name]; len(texts) > 0 {
				params[f.Name] = texts
			}
		}
		if len(params) > 0 {
			path += "?" + params.Encode()
		}
		return path, nil
	}
	return path, given.Body(v.op.InBody())
}

// printAnswer prints an answer. It returns errNotFound if the answer's field found is false.
func (v verb) printAnswer(s *cli.Streams, asJSON bool, raw json.RawMessage) (err error) {
	var outcome struct {
		Found *bool `json:"found"`
	}
	missing := json.Unmarshal(raw, &outcome) == nil && outcome.Found != nil && !*outcome.Found
	switch {
	case asJSON:
		err = s.JSON(raw)
	case missing:
	case v.textField != "":
		var answer map[string]any
		if err = json.Unmarshal(raw, &answer); err == nil {
			_, err = fmt.Fprint(s.Out, answer[v.textField])
		}
	case v.message == "":
		err = v.printValues(s, raw)
	default:
		_, err = fmt.Fprintln(s.Out, v.message)
	}
	if err == nil && missing {
		return errNotFound
	}
	return err
}

// decode decodes an answer and keeps the spelling of its numbers.
func decode(raw []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(to)
}
