package command

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/command/state"
	"github.com/cairndb/cairn/local/stringd/sfmd"
	"github.com/cairndb/cairn/node/api"
)

func (c *call) act() (string, error) {
	if c.Doc == nil && c.Topic.Type == lang.App {
		if _, err := c.openApp(); err != nil {
			return "", err
		}
	}
	if c.Doc == nil {
		return "", errNoDocument
	}
	id, args := c.sub, c.argsAndBody()
	if id == "" {
		id, args = cutWord(args)
	}
	if id == "" || id == "--help" {
		return lang.Titled("Actions", cmp.Or(strings.Join(api.Each(c.Doc.Doc.Actions, schema), "\n"), "(none)")), nil
	}
	return c.runAction(c.Doc, id, args)
}

// runAction runs an action of a page.
func (c *call) runAction(p *state.Page, id, args string) (string, error) {
	i := slices.IndexFunc(p.Doc.Actions, func(a sfmd.Action) bool { return a.ID == id })
	if i < 0 {
		return "", lang.Errorf(lang.NotFound, "Action not found: %q\nAvailable: %s", id,
			cmp.Or(strings.Join(state.ActionIDs(p.Doc), ", "), "(none)"))
	}
	return (&actionRun{call: c, page: p, action: p.Doc.Actions[i]}).run(args)
}

func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t\n"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// tool runs an action of a file below tools/, without opening it.
func (c *call) tool() (string, error) {
	name, id, _ := strings.Cut(c.sub, ".")
	if name == "" || !lang.Segment.MatchString(name) {
		return "", lang.Errorf(lang.NotFound, "Tool not found: %s", c.sub)
	}
	p, err := c.findTool(name)
	if err != nil {
		return "", err
	}
	if id == "" {
		if id = p.Doc.Front.Text("default"); id == "" && len(p.Doc.Actions) == 1 {
			id = p.Doc.Actions[0].ID
		}
	}
	if id == "" {
		return "", lang.Errorf(lang.InvalidPayload, "Tool %s has no default action. Available: %s", name,
			strings.Join(state.ActionIDs(p.Doc), ", "))
	}
	return c.runAction(p, id, c.argsAndBody())
}

// tools returns the names of the files in the agent's directory of tools.
func (c *call) tools() (names []string) {
	entries, _ := c.ReadDir(filepath.Join(c.Agent.Home, "tools")) // without the directory there are no tools
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".md"); ok {
			names = append(names, name)
		}
	}
	return names
}

// findTool looks for tools/<name>.md, then for the file whose front matter has the name.
func (c *call) findTool(name string) (*state.Page, error) {
	names := c.tools()
	for i, n := range append([]string{name}, names[:min(len(names), 200)]...) {
		if path, err := c.Locate(n+".md", filepath.Join(c.Agent.Home, "tools")); err == nil {
			if p, err := c.Load(path, ""); err == nil && (i == 0 || p.Doc.Front.Text("name") == name) {
				return p, nil
			}
		}
	}
	return nil, lang.Errorf(lang.NotFound, "Tool not found: %s", name)
}

// schema describes an action for /act.
func schema(a sfmd.Action) string {
	rows := []string{"/act." + a.ID}
	for _, f := range a.Fields {
		row := "  "
		if f.Short != "" {
			row += " -" + f.Short + ","
		}
		need := "optional"
		if f.Required {
			need = "required"
		}
		row += fmt.Sprintf(" --%s <%s> (%s)", f.Name, f.Type, need)
		if f.About != "" {
			row += " — " + f.About
		}
		if f.HasDefault {
			row += fmt.Sprintf(" [default: %s]", f.Default)
		}
		rows = append(rows, row)
	}
	if len(a.Fields) == 0 {
		rows = append(rows, "   (no flags)")
	}
	return strings.Join(rows, "\n")
}

// actionRun runs one action.
type actionRun struct {
	*call
	page      *state.Page
	action    sfmd.Action
	env       map[string]string // $variables; only the text of the author may use them
	values    map[string]string // of fields
	extraArgs []string          // arguments that no field takes
}

// errHelp requests the schema of the action instead of a run.
var errHelp = errors.New("help")

func (p *actionRun) run(args string) (string, error) {
	var err error
	if p.env, err = p.Session.Env(); err != nil {
		return "", err
	}
	w, err := lang.Words(args)
	if err != nil {
		return "", err
	}
	if err := p.bind(w); errors.Is(err, errHelp) {
		return lang.Titled("Action: "+p.action.ID, schema(p.action)), nil
	} else if err != nil {
		return "", err
	}
	var res response
	if p.action.Method == "CLI" {
		res, err = p.cli()
	} else {
		res, err = p.http()
	}
	if err != nil {
		return "", err
	}
	if t, ok := p.page.Doc.Responses[p.action.ID]; ok {
		return p.template(t, res)
	}
	return cmp.Or(strings.TrimRight(res.text, " \t\r\n"), "(no output)"), nil
}

// bind assigns the arguments to the fields.
func (p *actionRun) bind(w []string) error {
	p.values = map[string]string{}
	var positional []string
	for i := 0; i < len(w); i++ {
		arg := w[i]
		if arg == "--" {
			positional = append(positional, w[i+1:]...)
			break
		}
		if arg == "--help" || arg == "-h" && p.field("-h") == nil {
			return errHelp
		}
		name, value, eq := strings.Cut(arg, "=")
		f := p.field(name)
		if f == nil {
			positional = append(positional, arg)
			continue
		}
		switch {
		case eq:
		case f.Type == "boolean" || f.Type == "bool":
			value = "true"
		case i+1 < len(w) && (!strings.HasPrefix(w[i+1], "-") || p.field(w[i+1]) == nil && !strings.HasPrefix(w[i+1], "--")):
			i++
			value = w[i]
		default:
			return lang.Errorf(lang.InvalidPayload, "%s needs a value", arg)
		}
		if err := p.assign(f.Name, value); err != nil {
			return err
		}
	}
	return p.assignPositional(positional, len(w) == 0)
}

// assignPositional assigns unnamed arguments to the fields in order, and then sets the defaults.
func (p *actionRun) assignPositional(positional []string, empty bool) error {
	for _, f := range p.action.Fields {
		if _, ok := p.values[f.Name]; !ok && len(positional) > 0 {
			if err := p.assign(f.Name, positional[0]); err != nil {
				return err
			}
			positional = positional[1:]
		}
	}
	var missing []string
	for _, f := range p.action.Fields {
		if _, ok := p.values[f.Name]; ok {
			continue
		}
		switch {
		case f.HasDefault:
			p.values[f.Name] = p.expandEnv(f.Default)
		case f.Required:
			missing = append(missing, f.Name)
		}
	}
	if len(missing) > 0 {
		if empty {
			return errHelp
		}
		return lang.Errorf(lang.InvalidPayload, "Missing required: %s", strings.Join(missing, ", "))
	}
	takesRest := len(p.action.Fields) == 0 || strings.Contains(p.action.Target, "{...args}") || strings.Contains(p.action.Target, "$ARGS")
	if len(positional) > 0 && !takesRest {
		return lang.Errorf(lang.InvalidPayload, "Too many arguments: %s", strings.Join(positional, " "))
	}
	p.extraArgs = positional
	return nil
}

func (p *actionRun) field(flag string) *sfmd.Field {
	for i, f := range p.action.Fields {
		if flag == "--"+f.Name || f.Short != "" && flag == "-"+f.Short {
			return &p.action.Fields[i]
		}
	}
	return nil
}

// assign sets a field to a caller's value. It substitutes topic variables and shortcuts, but not $variables, because
// callers must not read them.
func (p *actionRun) assign(name, value string) error {
	if persistent.MatchString(value) {
		return lang.Errorf(lang.InvalidPayload, "$var cannot be used in command arguments: %s", value)
	}
	value = p.Substitute(value)
	if id, ok := strings.CutPrefix(value, "@"); ok && lang.Segment.MatchString(strings.ReplaceAll(id, ".", "")) {
		if v, found := p.Session.Shortcuts[id]; found {
			value = v
		} else {
			href, _, err := p.follow(id)
			if err != nil {
				return err
			}
			value = href
		}
	}
	p.values[name] = value
	return nil
}

// expandEnv substitutes $variables in a text of the document's author. Unset variables stay as written.
func (p *actionRun) expandEnv(text string) string {
	return persistent.ReplaceAllStringFunc(text, func(m string) string {
		if v, ok := p.env[m[1:]]; ok {
			return v
		}
		return m
	})
}

// response is the result of an action.
type response struct {
	status int
	text   string
}

func (p *actionRun) cli() (response, error) {
	line := p.script(p.expandEnv(p.action.Target))
	out, err := p.once(line, cmp.Or(p.page.Dir(), p.Agent.Home))
	if err != nil {
		return response{}, err
	}
	if _, err := p.report(out); err != nil {
		return response{}, err
	}
	return response{status: out.Status, text: out.Text}, nil
}

// script inserts the caller's values into the author's shell line so that the shell never parses them. Each value is
// assigned to a variable before the line, and a quoted reference to the variable replaces the field. The shell
// expands the reference after it has parsed the line, however the author quoted it.
func (p *actionRun) script(line string) string {
	var pre, out strings.Builder
	var quote byte
	vars := 0
	refer := func(v string) string {
		vars++
		name := fmt.Sprintf("__arg%d", vars)
		fmt.Fprintf(&pre, "%s=%s\n", name, quoteShell(v))
		switch quote {
		case '"':
			return "${" + name + "}"
		case '\'':
			return `'"${` + name + `}"'`
		}
		return `"${` + name + `}"`
	}
	all := func() string {
		refs := make([]string, len(p.extraArgs))
		for i, r := range p.extraArgs {
			refs[i] = refer(r)
		}
		return strings.Join(refs, " ")
	}
	for i := 0; i < len(line); i++ {
		switch b := line[i]; {
		case b == '\\' && quote != '\'' && i+1 < len(line):
			out.WriteString(line[i : i+2])
			i++
			continue
		case quote == 0 && (b == '"' || b == '\''):
			quote = b
		case b == quote:
			quote = 0
		case b == '{':
			if m := fieldRef.FindString(line[i:]); m != "" && strings.HasPrefix(line[i:], m) && (i == 0 || line[i-1] != '$') {
				if name := m[1 : len(m)-1]; name == "...args" {
					out.WriteString(all())
				} else {
					out.WriteString(p.replacement(name, m, refer))
				}
				i += len(m) - 1
				continue
			}
		case strings.HasPrefix(line[i:], "$ARGS"):
			out.WriteString(all())
			i += len("$ARGS") - 1
			continue
		}
		out.WriteByte(line[i])
	}
	return pre.String() + out.String()
}

// replacement returns the value that replaces a {name} in the author's text, or the text itself for an unknown name.
func (p *actionRun) replacement(name, as string, quote func(string) string) string {
	if v, ok := p.values[name]; ok {
		return quote(v)
	}
	if slices.ContainsFunc(p.action.Fields, func(f sfmd.Field) bool { return f.Name == name }) {
		return quote("")
	}
	if v, ok := p.Vars.Values[name]; ok {
		return quote(v)
	}
	return as
}

func quoteShell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
