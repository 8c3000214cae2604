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
	"github.com/cairndb/cairn/wire/client"
	"github.com/cairndb/cairn/wire/field"
)

// A verb is one operation as a command.
type verb struct {
	group   string // the verb that it stands below; blank for none
	use     string
	op      *api.Op
	args    []string           // the fields that its arguments are, in order; those in brackets in use may be left out
	fixed   map[string]string  // fields that the verb gives itself
	names   map[string]string  // flags that have not the name of their field
	not     []string           // fields that another verb has
	rows    string             // the field of the answer that is shown, or a|b, the one that is there; blank: the answer itself
	shows   []string           // the columns of a list, the lines of one thing; none: all fields
	says    string             // shown instead of the answer
	checks  bool               // relations_to_check of the answer are shown behind it
	text    string             // the field of the answer that is a text to print as it is
	others  []other            // operations that a flag asks for instead
	asks    func(Given) string // the question before it is done; it is not asked with --yes
	again   bool               // a node knows it again: over the wire, whose client repeats it until a leader has answered
	short   string             // blank: what the operation does
	long    string
	example string
	rowsAsked

	wraps func(*cli.Streams, *cobra.Command, *cli.Target) // adds to the command; nil: nothing
}

// rowsAsked says which rows a call of a verb asks for, and how they are printed.
type rowsAsked struct {
	idsOnly bool // by the flag --quiet
	most    int  // 0: all
}

// An other is an operation that a verb's flag asks for instead of the verb's own.
type other struct {
	by   field.Field // the flag
	op   *api.Op
	rows string
	as   map[string]string // fields of the verb that have another name there
}

// Commands are the verbs of memories.
func Commands(s *cli.Streams) (all []*cobra.Command) {
	below := map[string]*cobra.Command{}
	for _, v := range verbs() {
		c := v.command(s)
		if v.group == "" {
			all = append(all, c)
			continue
		}
		if below[v.group] == nil {
			below[v.group] = &cobra.Command{Use: v.group, Short: groups[v.group]}
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
		long = strings.TrimSpace(long + "\n\n" + args)
	}
	if long != "" {
		c.Long = c.Short + ".\n\n" + long
	}
	t.Flags(c)
	t.InDatabase(c)
	given := Given{}
	for _, f := range v.flags() {
		addFlag(c.Flags(), v.flag(f), f, given)
	}
	yes := v.asks == nil
	if !yes {
		c.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask for confirmation")
	}
	if v.rows != "" {
		c.Flags().BoolVarP(&v.idsOnly, "quiet", "q", false, "print ids alone, a line each")
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := v.joined(c.Context(), s, args)
		if err != nil {
			return err
		}
		v, given, err := v.asked(given)
		if err == nil {
			err = v.complete(given, args)
		}
		if err != nil {
			return cli.Usage(err)
		}
		if !yes {
			if err := s.Confirm(c.Context(), v.asks(given), "nothing was done"); err != nil {
				return err
			}
		}
		return named(v.do(c.Context(), s, &t, given), args)
	}
	if v.wraps != nil {
		v.wraps(s, c, &t)
	}
	return c
}

// arguments describes the arguments that are not memories' ids, a line each.
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

// do asks for the operation and prints the answer.
func (v verb) do(ctx context.Context, s *cli.Streams, t *cli.Target, given Given) error {
	v.most = v.limit(given)
	if v.again {
		return t.With(ctx, func(ctx context.Context, cl *client.Client) error {
			err := v.whole(given, func(short []string, a *api.IDsAnswer) error {
				return cl.Query(ctx, api.IDs.Name, map[string]any{"short": short}, a)
			})
			if err != nil {
				return err
			}
			var raw json.RawMessage
			if err := cl.Repeat(ctx, v.op.Name, given.Body(v.op.Takes()), &raw); err != nil {
				return err
			}
			return v.tell(s, t.JSON, raw)
		})
	}
	if err := v.whole(given, askingIDs(ctx, t)); err != nil {
		return err
	}
	switch v.op {
	case api.Think.Op:
		return think(ctx, s, t, v, given)
	case api.Events.Op:
		path, _ := v.request(given)
		return watch(ctx, s, t, t.In(path))
	}
	var raw json.RawMessage
	if err := v.get(ctx, t, given, &raw); err != nil {
		return err
	}
	return v.tell(s, t.JSON, raw)
}

// errNothing is the error of a verb whose answer says that nothing was found.
var errNothing = errors.New("there is nothing with this id or key")

// named adds the first argument, an id or a key, to an error that says that nothing was found and does not name it.
func named(err error, args []string) error {
	var e *cli.HTTPError
	missing := errors.Is(err, errNothing) || errors.As(err, &e) && e.Status == http.StatusNotFound
	if !missing || len(args) == 0 || slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(err.Error(), arg) }) {
		return err
	}
	return fmt.Errorf("%w: %s", err, args[0])
}

// askingIDs asks the gateway which ids short ones stand for.
func askingIDs(ctx context.Context, t *cli.Target) func(short []string, a *api.IDsAnswer) error {
	return func(short []string, a *api.IDsAnswer) error {
		return t.Get(ctx, api.IDs.Method(), t.In(api.IDs.Path()+"?"+url.Values{"short": short}.Encode()), nil, a)
	}
}

// asked is the verb with the operation that its flags ask for, and what was given in that operation's words.
func (v verb) asked(given Given) (verb, Given, error) {
	for _, o := range v.others {
		if len(given[o.by.Name]) == 0 {
			continue
		}
		renamed := Given{}
		for name, texts := range given {
			to := cmp.Or(o.as[name], name)
			if !slices.ContainsFunc(o.op.Takes(), func(f field.Field) bool { return f.Name == to }) {
				return v, nil, fmt.Errorf("--%s does not go with --%s", v.flag(field.Field{Name: name}), v.flag(o.by))
			}
			renamed[to] = texts
		}
		v.op, v.rows = o.op, o.rows
		return v, renamed, nil
	}
	return v, given, nil
}

// joined are the arguments of a verb whose last is a text of several words, or is read from standard input; of others
// they are as given.
func (v verb) joined(ctx context.Context, s *cli.Streams, args []string) ([]string, error) {
	last := len(v.args) - 1
	if !strings.HasSuffix(v.use, "...") || v.op.Takes().Named(v.args[last]).Kind.Item != nil { // of a list, each is one of it
		return args, nil
	}
	text := strings.Join(args[last:], " ")
	if text == "-" {
		b, err := io.ReadAll(io.LimitReader(s.Input(ctx), 16<<20))
		if err != nil {
			return nil, err
		}
		text = strings.TrimRight(string(b), "\n")
	}
	return append(slices.Clone(args[:last]), text), nil
}

// flags are the fields of the request that flags give.
func (v verb) flags() (list field.Object) {
	for _, f := range v.op.Takes() {
		if _, fixed := v.fixed[f.Name]; !fixed && !f.Idle && !slices.Contains(v.args, f.Name) && !slices.Contains(v.not, f.Name) {
			list = append(list, f)
		}
	}
	for _, o := range v.others {
		list = append(list, o.by)
	}
	return list
}

// flag is the name of a field's flag.
func (v verb) flag(f field.Field) string {
	return cmp.Or(v.names[f.Name], usual[f.Name], strings.ReplaceAll(f.Name, "_", "-"))
}

// complete adds arguments and what the verb says itself to what flags gave, and rejects what is wrong with the
// arguments, or missing.
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
				return fmt.Errorf("%s is blank: %s", f.Name, f.Doc)
			}
			if err := check(f, f.Name, text); err != nil {
				return err
			}
		}
		if f.Must && len(given[f.Name]) == 0 {
			return fmt.Errorf("--%s is missing: %s", v.flag(f), f.Doc)
		}
	}
	return nil
}

// whole puts whole ids in the place of short ones.
func (v verb) whole(given Given, ask func(short []string, a *api.IDsAnswer) error) error {
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

// get asks a gateway for the operation.
func (v verb) get(ctx context.Context, t *cli.Target, given Given, answer any) error {
	path, body := v.request(given)
	return t.Get(ctx, v.op.Method(), t.In(path), body, answer)
}

// request is the path with its parameters, and the body; nil for none.
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

// tell prints an answer. One that says that what was named is not there is an error.
func (v verb) tell(s *cli.Streams, asJSON bool, raw json.RawMessage) (err error) {
	var outcome struct {
		Found *bool `json:"found"`
	}
	missing := json.Unmarshal(raw, &outcome) == nil && outcome.Found != nil && !*outcome.Found
	switch {
	case asJSON:
		err = s.JSON(raw)
	case missing:
	case v.text != "":
		var answer map[string]any
		if err = json.Unmarshal(raw, &answer); err == nil {
			_, err = fmt.Fprint(s.Out, answer[v.text])
		}
	case v.says == "":
		err = v.print(s, raw)
	default:
		_, err = fmt.Fprintln(s.Out, v.says)
	}
	if err == nil && missing {
		return errNothing
	}
	return err
}

// decode reads an answer with its numbers as they were written.
func decode(raw []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	return d.Decode(to)
}
