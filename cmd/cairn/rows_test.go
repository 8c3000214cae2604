package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestRowsOfOthers: what an import makes of the shapes in which memories come.
func TestRowsOfOthers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, in, want string }{
		{"an export of ours", `{"type":"memory","rid":"r1","text":"a","memory_type":"semantic","importance":0.9,"created_at":12.5,"namespace":"n","metadata":{"k":1},"source":"user"}
			{"type":"edge","edge_id":"e","src":"Alice","dst":"payments","rel_type":"leads","weight":0.5}`,
			`memory a n 12.5 {"k":1}; edge Alice leads payments`},
		{"mem0, one a line", `{"id":"m1","memory":"Alice leads payments","hash":"h","metadata":{"topic":"org"},"created_at":"2024-07-29T16:22:51.612718-07:00","updated_at":null,"user_id":"bob","categories":["work"]}`,
			`memory Alice leads payments bob 1722295371.612718 {"categories":["work"],"id":"m1","topic":"org","user_id":"bob"}`},
		{"mem0, all at once", `{"results":[{"id":"m1","memory":"a","created_at":"2024-07-29T16:22:51Z","agent_id":"x","run_id":"s"},{"id":"m2","memory":"b"}],
			"relations":[{"source":"alice","relationship":"leads","target":"payments"},{"source":"bob","relationship":"knows","destination":"alice"}]}`,
			`memory a x 1722270171 {"agent_id":"x","id":"m1","run_id":"s"}; memory b  0 {"id":"m2"}; edge alice leads payments; edge bob knows alice`},
		{"documents", `[{"page_content":"a","metadata":{"page":3}},{"content":"b","url":"u"},"c"] {"text":"d","created_at":"2026-03-01"}`,
			`memory a  0 {"page":3}; memory b  0 {"url":"u"}; memory c  0 ; memory d  1772323200 `},
		{"no text", `{"text":"a"}{"url":"u"}`, `memory a  0 ; row 2: no text: want a field text, memory, content or page_content`},
		{"no time", `{"text":"a","created_at":"yesterday"}`, `row 1: created_at "yesterday" is not a time`},
		{"a number", `17`, `row 1: want an object or a text, got 17`},
		{"broken off", `[{"text":"a"}`, `memory a  0 ; row 2: unexpected EOF`},
		{"not JSON", `{"text":"a"} what`, `memory a  0 ; row 2: invalid character 'w' looking for beginning of value`},
		{"a bracket too many", `{"text":"a"} ]`, `memory a  0 ; row 2: invalid character ']' looking for beginning of value`},
		{"nothing", " \n", ``},
	} {
		var got []string
		for r := newRows(strings.NewReader(tc.in)); ; {
			row, err := r.next()
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				break
			}
			if err != nil {
				got = append(got, fmt.Sprintf("row %d: %v", r.n, err))
				break
			}
			if _, err := row.line(); err != nil {
				got = append(got, fmt.Sprintf("row %d: %v", r.n, err))
				break
			}
			if row.text("type") == "edge" {
				got = append(got, fmt.Sprint("edge ", row.text("src"), " ", row.text("rel_type"), " ", row.text("dst")))
				continue
			}
			got = append(got, fmt.Sprintf("memory %s %s %s %s", row.text("text"), row.text("namespace"), cmp.Or(string(row["created_at"]), "0"), row["metadata"]))
		}
		if s := strings.Join(got, "; "); s != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.name, s, tc.want)
		}
	}
}

// TestImportFromElsewhere: memories of another product, told as it tells them, are recalled here, and what is exported
// here is taken in again by another node.
func TestImportFromElsewhere(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	_, home := cairntest.StartDev(t)
	take := func(home, in string) (string, error) {
		t.Helper()
		c := cairntest.Command(t.Context(), "import", "--home", home)
		c.Stdin = strings.NewReader(in)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	out, err := take(home, `{"results":[{"memory":"Alice prefers tea","user_id":"alice","created_at":"2024-07-29T16:22:51Z"}],"relations":[{"source":"Alice","relationship":"prefers","target":"tea"}]}`)
	if err != nil || !strings.Contains(out, "imported 1 memories and 1 relations") {
		t.Fatalf("%v: %s", err, out)
	}
	if out, _ := cairntest.Run(t, "recall", "what does Alice drink?", "--home", home); !strings.Contains(out, "Alice prefers tea") {
		t.Errorf("recall: %s", out)
	}
	var exit *exec.ExitError
	if out, err := take(home, `{"text":"one"} {"nothing":1}`); !errors.As(err, &exit) || !strings.Contains(out, "row 2: no text") {
		t.Errorf("a row without a text: %v, %s", err, out)
	}
	for in, want := range map[string]string{
		`{"text":"before what cannot be read"} {`:                                                           "before what cannot be read",
		`{"text":"before what is refused"} {"text":"out of range","importance":9} {"text":"never reached"}`: "before what is refused",
	} {
		out, err := take(home, in)
		if !errors.As(err, &exit) || !strings.Contains(out, "row 2: ") || !strings.Contains(out, "1 memories and 0 relations were imported") {
			t.Errorf("a bad row: %v, %s", err, out)
		}
		if rows, _ := cairntest.Run(t, "export", "--home", home); !strings.Contains(rows, want) || strings.Contains(rows, "never reached") {
			t.Errorf("%q is lost, or what came behind the bad row is not:\n%s", want, rows)
		}
	}
	if out, code := cairntest.Run(t, "forget", "0198c0de-0000-7000-8000-000000000000", "--home", home, "--json"); code != cli.ExitFailed || !strings.Contains(out, `"found": false`) {
		t.Errorf("forgetting nothing: exit %d, %s", code, out)
	}
	exported, _ := cairntest.Run(t, "export", "--home", home)
	_, second := cairntest.StartDev(t)
	if out, err := take(second, exported); err != nil || !strings.Contains(out, "and 1 relations") {
		t.Fatalf("%v: %s", err, out)
	}
	for _, want := range []string{`"text":"Alice prefers tea"`, `"namespace":"alice"`, `"created_at":1722270171`, `"rel_type":"prefers"`} {
		if !strings.Contains(exported, want) {
			t.Errorf("%s is lost on the way:\n%s", want, exported)
		}
	}
	if again, _ := cairntest.Run(t, "export", "--home", second); again != exported {
		t.Errorf("exported, imported and exported again:\n%s\nwant:\n%s", again, exported)
	}
	var first struct {
		RID string `json:"rid"`
	}
	if err := json.NewDecoder(strings.NewReader(exported)).Decode(&first); err != nil {
		t.Fatal(err)
	}
	c := cairntest.Command(t.Context(), "import", "--home", second, "--keep-ids")
	c.Stdin = strings.NewReader(exported)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "row 1: memory "+first.RID+" exists already") {
		t.Errorf("ids that are taken: %v, %s", err, out)
	}
}
