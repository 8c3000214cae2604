package sfmd

import (
	"regexp"
	"slices"
	"strings"
)

// Action is an action that a document offers.
type Action struct {
	ID       string
	Method   string // GET POST PUT PATCH DELETE CLI
	Target   string // a URI, or a shell command
	Headers  [][2]string
	Template string // of the body; empty for none
	Fields   []Field
}

// Field is an argument of an action.
type Field struct {
	Name       string
	Short      string // one letter; may be empty
	Type       string
	Required   bool
	About      string
	Default    string
	HasDefault bool // Default is one
}

var (
	fieldLine = regexp.MustCompile(`^([A-Za-z_][\w-]*)(?:\s*,\s*-([A-Za-z]))?\s*:\s*([A-Za-z]\w*(?:\[\])?)\s*(?:\((required|optional)\))?\s*(?:"((?:[^"\\]|\\.)*)")?\s*(?:=\s*(?:"((?:[^"\\]|\\.)*)"|(\S+)))?$`)
	option    = regexp.MustCompile(`\s-(H|d)\s+(?:"([^"]*)"|'([^']*)'|(\S+))`)
	methods   = []string{"GET", "POST", "PUT", "PATCH", "DELETE", "CLI"}
)

// readActions reads the actions and response templates from the fences.
func (d *Document) readActions(fences []fence) {
	known := map[string]bool{}
	for _, f := range fences {
		id, ok := strings.CutPrefix(f.info, "act.")
		if !ok {
			continue
		}
		id, _, _ = strings.Cut(id, " ")
		var text []string
		for i := f.open; i <= f.close; i++ {
			d.lines[i].hidden = true
			if i > f.open && (i < f.close || !d.closed(f)) {
				text = append(text, d.lines[i].text)
			}
		}
		if name, ok := strings.CutSuffix(id, ".response"); ok {
			d.Responses[name] = strings.Join(text, "\n")
			continue
		}
		a, ok := parseAction(id, text)
		if !ok || id == "" {
			d.warn("INVALID_ACTION_BLOCK: act.%s", id)
			continue
		}
		if known[id] {
			d.warn("INVALID_ACTION_BLOCK: act.%s is there twice", id)
			continue
		}
		known[id] = true
		d.Actions = append(d.Actions, a)
	}
}

// closed reports whether a fence has its closing delimiter. An unclosed fence ends with the document.
func (d *Document) closed(f fence) bool {
	return f.close > f.open && fenceMark.MatchString(d.lines[f.close].text)
}

func parseAction(id string, text []string) (a Action, ok bool) {
	a.ID = id
	for _, raw := range text {
		t := strings.TrimSpace(raw)
		switch {
		case t == "":
		case a.Method == "":
			method, target, _ := strings.Cut(t, " ")
			a.Method, a.Target = strings.ToUpper(method), strings.TrimSpace(target)
			if !slices.Contains(methods, a.Method) || a.Target == "" {
				return a, false
			}
			if a.Method != "CLI" {
				a.options()
			}
		default:
			m := fieldLine.FindStringSubmatch(t)
			if m == nil || raw[0] != ' ' && raw[0] != '\t' {
				return a, false
			}
			f := Field{Name: m[1], Short: m[2], Type: m[3], Required: m[4] == "required", About: m[5], Default: m[6] + m[7],
				HasDefault: strings.Contains(t, "=") && m[6]+m[7] != ""}
			a.Fields = append(a.Fields, f)
		}
	}
	return a, a.Method != ""
}

// options moves the options -H and -d from the target to the fields of the action.
func (a *Action) options() {
	for _, m := range option.FindAllStringSubmatch(a.Target, -1) {
		v := m[2] + m[3] + m[4]
		if m[1] == "d" {
			a.Template = v
		} else if k, v, ok := strings.Cut(v, ":"); ok {
			a.Headers = append(a.Headers, [2]string{strings.TrimSpace(k), strings.TrimSpace(v)})
		}
	}
	a.Target = strings.TrimSpace(option.ReplaceAllString(" "+a.Target, ""))
}
