package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestImportFromElsewhere checks that memories in the format of another product are imported and recalled, and that
// another node can import Cairn's own export.
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
	out, err := take(home,
		`{"results":[{"memory":"Alice prefers tea","user_id":"alice","created_at":"2024-07-29T16:22:51Z"}],"relations":[{"source":"Alice","relationship":"prefers","target":"tea"}]}`)
	if err != nil || !strings.Contains(out, "imported 1 memory and 1 relation") {
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
		`{"text":"before what cannot be read"} {`:                                                       "1 row was rejected (1 memory and 0 relations were imported",
		`{"text":"before the row"} {"text":"out of range","importance":9} {"text":"behind it"}`:         "1 row was rejected (2 memories and 0 relations were imported",
		`{"text":"a","key":"/folder/file"} {"text":"b","key":"/folder"} {"text":"c","key":"/folder/b"}`: "1 row was rejected (2 memories and 0 relations were imported",
	} {
		out, err := take(home, in)
		if !errors.As(err, &exit) || !strings.Contains(out, "row 2: ") || !strings.Contains(out, want) {
			t.Errorf("a bad row: %v, %s", err, out)
		}
	}
	if out, code := cairntest.Run(t, "forget", "0198c0de-0000-7000-8000-000000000000", "--home", home,
		"--json"); code != cli.ExitFailed || !strings.Contains(out, `"found": false`) || !strings.Contains(out, `"log_index": "`) {
		t.Errorf("forgetting nothing: exit %d, %s", code, out)
	}
	exported, _ := cairntest.Run(t, "export", "--home", home)
	_, second := cairntest.StartDev(t)
	if out, err := take(second, exported); err != nil || !strings.Contains(out, "and 1 relation") {
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
