package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/node/api"
)

// fieldRef matches {name} or {...args} in a text of the document's author.
var fieldRef = regexp.MustCompile(`\{(\.\.\.args|[A-Za-z_][\w-]*)\}`)

// maxResponse bounds the bytes that are read of a response.
const maxResponse = 10 << 20

// http sends the HTTP request of an action. Unless the door allows other hosts, the request may only go to this host.
func (p *actionRun) http() (res response, err error) {
	u, err := url.Parse(p.uri())
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return response{}, lang.Errorf(lang.InvalidTarget, "Invalid URI: %s", p.action.Target)
	}
	body := p.payload(u)
	req, err := http.NewRequestWithContext(p.ctx, p.action.Method, u.String(), bytes.NewReader(body))
	if err != nil {
		return response{}, lang.Errorf(lang.InvalidTarget, "Invalid URI: %s", p.action.Target)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, h := range p.action.Headers {
		req.Header.Set(h[0], p.expand(h[1], strings.NewReplacer("\r", "", "\n", "").Replace))
	}
	denied := lang.Errorf(lang.LoadError, "HTTP to other hosts is disabled: %s", u.Host)
	err = p.Settings.Memory.Act(p.ctx, api.AskHosts, denied, func(context.Context) (err error) {
		res, err = p.send(req, true)
		return err
	})
	if err == denied && loopbackHost(u.Hostname()) {
		return p.send(req, false)
	}
	return res, err
}

// uri returns the target with the values of the fields. In the query, values are escaped so that & and + keep their
// literal meaning.
func (p *actionRun) uri() string {
	path, query, hasQuery := strings.Cut(p.action.Target, "?")
	uri := p.expand(path, url.PathEscape)
	if hasQuery {
		uri += "?" + p.expand(query, func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") })
	}
	return uri
}

// send sends a request and reads the response. It follows redirects to other hosts only if otherHosts is set.
func (p *actionRun) send(req *http.Request, otherHosts bool) (response, error) {
	u := req.URL
	client := &http.Client{Timeout: p.Settings.Timeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if !otherHosts && !loopbackHost(r.URL.Hostname()) || len(via) > 5 {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	res, err := client.Do(req)
	if err != nil {
		return response{}, lang.Errorf(lang.LoadError, "HTTP request failed: %s", u.Host)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxResponse))
	if err != nil {
		return response{}, lang.Errorf(lang.LoadError, "HTTP response of %s ended early", u.Host)
	}
	if res.StatusCode >= 400 {
		code := lang.LoadError
		if res.StatusCode == http.StatusNotFound {
			code = lang.NotFound
		}
		return response{}, lang.Errorf(code, "HTTP %d at %s\n%s", res.StatusCode, u.Redacted(), b[:min(len(b), 500)])
	}
	return response{res.StatusCode, string(b)}, nil
}

// expand replaces the fields in a text of the author. quote escapes the values.
func (p *actionRun) expand(text string, quote func(string) string) string {
	return fieldRef.ReplaceAllStringFunc(p.expandEnv(text), func(m string) string { return p.replacement(m[1:len(m)-1], m, quote) })
}

// payload returns the body of the request. For GET and DELETE it adds the fields that the target does not name to the
// query instead.
func (p *actionRun) payload(u *url.URL) []byte {
	if p.action.Template != "" {
		return []byte(p.expand(p.action.Template, func(s string) string {
			b, _ := json.Marshal(s) // a string always encodes
			return string(b[1 : len(b)-1])
		}))
	}
	target := p.expandEnv(p.action.Target)
	fields := map[string]any{}
	q := u.Query()
	for _, f := range p.action.Fields {
		v, ok := p.values[f.Name]
		if !ok || strings.Contains(target, "{"+f.Name+"}") {
			continue
		}
		q.Set(f.Name, v)
		fields[f.Name] = jsonValue(f.Type, v)
	}
	if p.action.Method == "GET" || p.action.Method == "DELETE" {
		u.RawQuery = q.Encode()
		return nil
	}
	b, _ := json.Marshal(fields) // strings, numbers and booleans
	return b
}

// jsonValue converts a value to the JSON type of its field.
func jsonValue(kind, v string) any {
	switch kind {
	case "number", "integer", "int", "float", "boolean", "bool":
		var x any
		if json.Unmarshal([]byte(v), &x) == nil {
			return x
		}
	}
	return v
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

var (
	varLine   = regexp.MustCompile(`^\{([A-Za-z_]\w*)\}\s*=\s*(.+)$`)
	shortLine = regexp.MustCompile(`^\{@([A-Za-z0-9_-]+)\}\s*=\s*(.+)$`)
	forLine   = regexp.MustCompile(`^for:\s*(\w+)\s+in\s+\{?([\w.\[\]-]+)\}?\s*$`)
	exprRef   = regexp.MustCompile(`\{([A-Za-z_@][\w.\[\]-]*)\}`)
)

// template turns a response into text, variables and shortcuts, by the template of the document.
func (p *actionRun) template(t string, res response) (string, error) {
	var body any
	if json.Unmarshal([]byte(res.text), &body) != nil {
		body = res.text
	}
	sc := templateScope{p, map[string]any{"Response": map[string]any{"status": float64(res.status), "body": body}}, map[string]int{}}
	var out []string
	if err := sc.run(strings.Split(t, "\n"), &out, false); err != nil {
		return "", err
	}
	return cmp.Or(strings.TrimSpace(strings.Join(out, "\n")), "(no output)"), nil
}

// templateScope holds the names that a template can use.
type templateScope struct {
	p          *actionRun
	vars       map[string]any
	loopCounts map[string]int // number of shortcuts with a name that loops have made
}

func (s templateScope) run(lines []string, out *[]string, loop bool) error {
	for i := 0; i < len(lines); i++ {
		t := strings.TrimSpace(lines[i])
		if m := forLine.FindStringSubmatch(t); m != nil {
			end := i + 1
			for depth := 1; end < len(lines); end++ {
				if e := strings.TrimSpace(lines[end]); forLine.MatchString(e) {
					depth++
				} else if e == "end:" {
					if depth--; depth == 0 {
						break
					}
				}
			}
			list, _ := s.lookup(m[2]).([]any) // another type is an empty list
			for _, x := range list[:min(len(list), 1000)] {
				s.vars[m[1]] = x
				if err := s.run(lines[i+1:min(end, len(lines))], out, true); err != nil {
					return err
				}
			}
			delete(s.vars, m[1])
			i = end
			continue
		}
		switch {
		case strings.HasPrefix(t, "save:"), strings.HasPrefix(t, "decode:"), strings.HasPrefix(t, "to:"):
			return lang.Errorf(lang.Unsupported, "save, decode and to are not offered by this node.")
		case varLine.MatchString(t):
			m := varLine.FindStringSubmatch(t)
			s.p.Vars.Set(m[1], s.eval(m[2]))
		case shortLine.MatchString(t):
			m := shortLine.FindStringSubmatch(t)
			id := m[1]
			if loop {
				s.loopCounts[id]++
				id = fmt.Sprintf("%s-%d", id, s.loopCounts[id])
			}
			s.p.Session.Shortcuts[id] = s.eval(m[2])
		default:
			*out = append(*out, s.expand(lines[i]))
		}
	}
	return nil
}

// eval evaluates the right side of an assignment: a path, or text with paths in braces.
func (s templateScope) eval(expr string) string {
	expr = strings.TrimSpace(expr)
	if strings.HasPrefix(expr, "\"") {
		return s.expand(lang.Unquote(expr))
	}
	if strings.ContainsAny(expr, "{ ") {
		return s.expand(expr)
	}
	if v := s.lookup(expr); v != nil {
		return formatValue(v)
	}
	return expr
}

func (s templateScope) expand(text string) string {
	return exprRef.ReplaceAllStringFunc(text, func(m string) string {
		if v := s.lookup(m[1 : len(m)-1]); v != nil {
			return formatValue(v)
		}
		return m
	})
}

// lookup resolves a path such as Response.body.a[0].b.
func (s templateScope) lookup(path string) any {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	if len(parts) == 0 {
		return nil
	}
	at, ok := s.vars[parts[0]]
	if !ok {
		if v, ok := s.p.values[path]; ok {
			return v
		}
		if v, ok := s.p.Vars.Values[path]; ok {
			return v
		}
		return nil
	}
	for _, k := range parts[1:] {
		switch v := at.(type) {
		case map[string]any:
			at = v[k]
		case []any:
			var i int
			if _, err := fmt.Sscan(k, &i); err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

func formatValue(v any) string {
	if s, ok := v.(string); ok {
		return s
	}
	return string(kit.MustJSON(v)) // decoded JSON can be encoded
}
