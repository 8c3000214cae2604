package edit

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// server is an entry in the form of the tools.
var server = Entry{At: []string{"mcpServers", "cairn"}, Value: `{"type":"http","url":"http://127.0.0.1:7438/mcp"}`}

var hook = Entry{At: []string{"hooks", "SessionStart"}, List: true,
	Value: `{"hooks":[{"type":"command","command":"cairn hook claude SessionStart"}]}`}

// TestJSON: an entry is added with the file's indentation, line ends and comments, and removing it restores every
// byte.
func TestJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, before, after string
		entry               Entry
	}{
		{"missing", "", "{\n  \"mcpServers\": {\n    \"cairn\": {\n      \"type\": \"http\",\n      \"url\": \"http://127.0.0.1:7438/mcp\"\n    }\n  }\n}\n", server},
		{"empty object", "{}\n",
			"{\n  \"mcpServers\": {\n    \"cairn\": {\n      \"type\": \"http\",\n      \"url\": \"http://127.0.0.1:7438/mcp\"\n    }\n  }\n}\n", server},
		{"tabs and a comment behind the last", "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"} // mine\n\t}\n}",
			"{\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"a\"}, // mine\n\t\t\"cairn\": {\n\t\t\t\"type\": \"http\",\n\t\t\t\"url\": \"http://127.0.0.1:7438/mcp\"\n\t\t}\n\t}\n}", server},
		{"a comma behind the last", "{\n    \"mcpServers\": {\n        \"a\": {}, /* one */\n        // two\n    },\n}\n",
			"{\n    \"mcpServers\": {\n        \"a\": {}, /* one */\n        \"cairn\": {\n            \"type\": \"http\",\n            \"url\": \"http://127.0.0.1:7438/mcp\"\n        },\n        // two\n    },\n}\n", server},
		{"CRLF", "{\r\n  \"x\": 1\r\n}\r\n",
			"{\r\n  \"x\": 1,\r\n  \"mcpServers\": {\r\n    \"cairn\": {\r\n      \"type\": \"http\",\r\n      \"url\": \"http://127.0.0.1:7438/mcp\"\r\n    }\r\n  }\r\n}\r\n", server},
		{"one line", `{"mcpServers": {"a": {}}}`,
			`{"mcpServers": {"a": {}, "cairn": {"type":"http","url":"http://127.0.0.1:7438/mcp"}}}`, server},
		{"list with others", "{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": []}\n    ]\n  }\n}\n",
			"{\n  \"hooks\": {\n    \"SessionStart\": [\n      {\"hooks\": []},\n      {\n        \"hooks\": [\n          {\n            \"type\": \"command\",\n            \"command\": \"cairn hook claude SessionStart\"\n          }\n        ]\n      }\n    ]\n  }\n}\n", hook},
		{"empty list", "{\"hooks\": {\"SessionStart\": [ ]}}",
			"{\"hooks\": {\"SessionStart\": [\n  {\n    \"hooks\": [\n      {\n        \"type\": \"command\",\n        \"command\": \"cairn hook claude SessionStart\"\n      }\n    ]\n  }\n ]}}", hook},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if taken, _, err := (JSON{}).Find([]byte(c.before), c.entry); err != nil || taken {
				t.Fatalf("before: taken %t, %v", taken, err)
			}
			after, trace, err := JSON{}.Put([]byte(c.before), c.entry)
			if err != nil {
				t.Fatal(err)
			}
			if string(after) != c.after {
				t.Errorf("got\n%s\nwant\n%s", after, c.after)
			}
			if taken, same, err := (JSON{}).Find(after, c.entry); err != nil || !taken || !same {
				t.Errorf("after: taken %t, same %t, %v", taken, same, err)
			}
			back, err := JSON{}.Remove(after, c.entry, trace)
			if err != nil || string(back) != c.before {
				t.Errorf("taken out: %v\n%q\nwant\n%q", err, back, c.before)
			}
		})
	}
}

// TestTOML: tables are added at the end, and removing them restores every byte. A file with the parent table in
// another form is not changed.
func TestTOML(t *testing.T) {
	t.Parallel()
	entry := Entry{At: []string{"mcp_servers", "cairn"}, Value: "[mcp_servers.cairn]\nurl = \"http://127.0.0.1:7438/mcp\"\n"}
	for _, before := range []string{"", "model = \"x\" # mine\n", "model = \"x\"",
		"model = 'x'\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\"\r\n", "a = 1\n\n"} {
		after, trace, err := TOML{}.Put([]byte(before), entry)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.HasPrefix(after, []byte(before)) {
			t.Errorf("%q became %q", before, after)
		}
		if taken, same, err := (TOML{}).Find(after, entry); err != nil || !taken || !same {
			t.Errorf("%q: taken %t, same %t, %v", after, taken, same, err)
		}
		if back, err := (TOML{}).Remove(after, entry, trace); err != nil || string(back) != before {
			t.Errorf("taken out: %v, %q, want %q", err, back, before)
		}
		later := string(after) + "\n[projects.\"/x\"]\ntrust_level = \"trusted\"\n" // as the tool itself adds
		back, err := TOML{}.Remove([]byte(later), entry, trace)
		if _, err2 := lookupTable(back, nil); err != nil || err2 != nil || strings.Contains(string(back), "cairn") ||
			!strings.Contains(string(back), "trusted") {
			t.Errorf("with a table behind it: %v, %v, %q", err, err2, back)
		}
	}
	var no *Error
	if _, _, err := (TOML{}).Put([]byte("mcp_servers = { a = { command = \"a\" } }\n"), entry); !errors.As(err, &no) {
		t.Errorf("an inline table: %v", err)
	}
	if taken, same, err := (TOML{}).Find([]byte("[mcp_servers]\ncairn.command = \"mine\"\n"), entry); err != nil || !taken || same {
		t.Errorf("a user's own: taken %t, same %t, %v", taken, same, err)
	}
}

// TestBlock: a block is added at the end of a text, and removing it restores every byte.
func TestBlock(t *testing.T) {
	t.Parallel()
	entry := Entry{At: []string{"cairn"}, Value: "Use the memory.\nOften."}
	for _, before := range []string{"", "# Rules\n", "# Rules", "# Rules\r\n\r\nBe kind.\r\n"} {
		after, trace, err := Block{}.Put([]byte(before), entry)
		if err != nil {
			t.Fatal(err)
		}
		if taken, same, _ := (Block{}).Find(after, entry); !taken || !same || !bytes.HasPrefix(after, []byte(before)) {
			t.Errorf("%q: taken %t, same %t", after, taken, same)
		}
		if back, err := (Block{}).Remove(after, entry, trace); err != nil || string(back) != before {
			t.Errorf("taken out: %v, %q, want %q", err, back, before)
		}
		other := Entry{At: entry.At, Value: "Something else."}
		if taken, same, _ := (Block{}).Find(after, other); !taken || same {
			t.Errorf("another text in the block: taken %t, same %t", taken, same)
		}
	}
}

// TestBroken: an error about a malformed file names the position.
func TestBroken(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]string{
		"{\n  \"a\": 1\n  \"b\": 2\n}": "line 3, column 3: a comma",
		"{\n  \"a\": }":                "line 2, column 8: not a value",
		"{\"a\": 1":                    "line 1, column 8: a comma or '}' is missing",
		"{\"a\": \"b":                  "line 1, column 7: a string without an end",
		"{} x":                         "line 1, column 4: unexpected 'x'",
		"{\"a\" 1}":                    "line 1, column 6: a colon",
		"/* x":                         "line 1, column 1: a comment without an end",
		"{a: 1}":                       "line 1, column 2: a name in quotes",
		"[]":                           "line 1, column 1: the document is not an object",
		"{\"mcpServers\": []}":         "line 1, column 16: mcpServers is not an object",
		strings.Repeat("[", 5000):      "line 1, column 1001: nested too deep",
	} {
		_, _, err := JSON{}.Find([]byte(doc), server)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v, want %s", doc, err, want)
		}
	}
	if _, _, err := (TOML{}).Find([]byte("a = 1\nb = [\n"), server); err == nil || !strings.Contains(err.Error(), "line ") {
		t.Errorf("TOML: %v", err)
	}
}

// TestJSONAnyText: adding and removing an entry restores any file, and while the entry is there, the rest of the file
// has the same meaning.
func TestJSONAnyText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		doc := []byte(draw(t, 0, "{"))
		if _, _, err := parse(doc); err != nil {
			t.Fatalf("%q: %v", doc, err)
		}
		e := rapid.SampledFrom([]Entry{server, hook, {At: []string{"version"}, Value: "1"},
			{At: []string{"a"}, List: true, Value: `"x"`}}).Draw(t, "entry")
		taken, _, err := JSON{}.Find(doc, e)
		if err != nil || taken {
			t.Skip("not an object on the way, or taken")
		}
		after, trace, err := JSON{}.Put(doc, e)
		if err != nil {
			t.Skip("not a list")
		}
		if _, same, err := (JSON{}).Find(after, e); err != nil || !same {
			t.Fatalf("%q: same %t, %v", after, same, err)
		}
		back, err := JSON{}.Remove(after, e, trace)
		if err != nil || !bytes.Equal(back, doc) {
			t.Fatalf("%v\nbefore %q\nafter  %q\nback   %q", err, doc, after, back)
		}
	})
}

// draw draws a JSON object with comments.
func draw(t *rapid.T, depth int, kind string) string {
	nl := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "line end")
	if depth > 0 {
		nl = "\n"
	}
	if depth > 3 {
		kind = "0"
	}
	if kind == "" {
		kind = rapid.SampledFrom([]string{"{", "[", "0"}).Draw(t, "kind")
	}
	if kind == "0" {
		return rapid.SampledFrom([]string{"1", `"x"`, "null", `"// no comment"`, "-1.5e3"}).Draw(t, "scalar")
	}
	gap := rapid.SampledFrom([]string{"", " ", nl + strings.Repeat("\t", depth+1), " // note" + nl + "  ", "/* c */"})
	var b strings.Builder
	b.WriteString(kind)
	b.WriteString(gap.Draw(t, "gap"))
	n := rapid.IntRange(0, 3).Draw(t, "members")
	for i := range n {
		if kind == "{" {
			name, err := json.Marshal([]string{"mcpServers", "hooks", "a", "SessionStart"}[i])
			if err != nil {
				t.Fatal(err)
			}
			b.Write(name)
			b.WriteString(":" + gap.Draw(t, "gap"))
		}
		b.WriteString(draw(t, depth+1, ""))
		b.WriteString(gap.Draw(t, "gap"))
		if i < n-1 || rapid.Bool().Draw(t, "comma") {
			b.WriteString(",")
			b.WriteString(gap.Draw(t, "gap"))
		}
	}
	b.WriteString(map[string]string{"{": "}", "[": "]"}[kind])
	return b.String()
}
