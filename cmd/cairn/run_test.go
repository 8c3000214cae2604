package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

func TestExitCodes(t *testing.T) {
	empty := t.TempDir()
	for _, tc := range []struct {
		args string
		code int
		says string // on stderr
	}{
		{"version", cli.ExitOK, ""},
		{"version --json", cli.ExitOK, ""},
		{"--version", cli.ExitOK, ""},
		{"completion bash", cli.ExitOK, ""},
		{"completion tcsh", cli.ExitUsage, `cairn completion has no verb "tcsh"`},
		{"--help", cli.ExitOK, ""},
		{"nonsense", cli.ExitUsage, `cairn has no verb "nonsense"; cairn --help lists them`},
		{"--home x --help", cli.ExitOK, ""},
		{"--json version", cli.ExitOK, ""},
		{"--json --home x recall --help", cli.ExitOK, ""},
		{"db --json --help", cli.ExitOK, ""},
		{"--json db --tls list mine", cli.ExitUsage, `accepts only flags, not \"mine\"`},
		{"--json nonsense", cli.ExitUsage, `cairn has no verb \"nonsense\"`},
		{"--home " + empty + " status", cli.ExitFailed, "hint: "},
		{"help", cli.ExitOK, ""},
		{"help recall", cli.ExitOK, ""},
		{"help db create", cli.ExitOK, ""},
		{"help nonsense", cli.ExitUsage, `cairn has no verb "nonsense"; cairn --help lists them`},
		{"help db crate", cli.ExitUsage, "did you mean cairn db create?"},
		{"rember x", cli.ExitUsage, "did you mean cairn remember?"},
		{"conf list", cli.ExitUsage, "did you mean cairn conflicts?"},
		{"db crate x", cli.ExitUsage, "did you mean cairn db create?"},
		{"recall x --namspace y", cli.ExitUsage, "cairn recall has no flag --namspace: did you mean --namespace?"},
		{"recall x --top many", cli.ExitUsage, `--top: want a whole number of at least 0, got "many"`},
		{"recall x --timeout soon", cli.ExitUsage, `--timeout: want a time such as 500ms, 15s or 1h30m, got "soon"`},
		{"covenant enroll reviewer memory.read", cli.ExitUsage, `an identity is called NAME@HOST, such as reviewer@local, got "reviewer"`},
		{"remember x --expires-at 1d", cli.ExitUsage, `--expires-at "1d" is in the past: +1d is in the future`},
		{"remember x --expires-at 2020-01-01", cli.ExitUsage,
			`--expires-at "2020-01-01" is in the past: no answer would return the memory`},
		{"remember x --ttl soon", cli.ExitUsage, `--ttl: want a time such as 12h, 30d or 90 for 90 seconds, got "soon"`},
		{"recall x --timeout 0s", cli.ExitUsage, "--timeout: want a time above 0, such as 15s, got 0s"},
		{"remember x --importance high", cli.ExitUsage, `--importance: want a number from 0 to 1, got "high"`},
		{"status --watch=often", cli.ExitUsage, `--watch: want true or false, got "often"`},
		{"token create --expires 7", cli.ExitUsage, `--expires "7": want a duration from now, such as 12h, 30d or 4w`},
		{"recall x -qk 3", cli.ExitUsage, "cairn recall has no flag -q; cairn recall --help lists them"},
		{"list --limit many", cli.ExitUsage, `--limit: want a whole number of at least 1, got "many"`},
		{"list --sort size", cli.ExitUsage, `--sort: want one of created_at, importance, last_access, got "size"`},
		{"correct x", cli.ExitUsage, "--reason is missing"},
		{"correct x --reason y --metadata z", cli.ExitUsage, `--metadata: want JSON, got "z"`},
		{"conflicts", cli.ExitUsage, "needs a verb: list, resolve; see"},
		{"db", cli.ExitUsage, "needs a verb: create, drop, list, quota; see"},
		{"db nonsense", cli.ExitUsage, "nonsense"},
		{"recall", cli.ExitUsage, "needs QUESTION"},
		{"relate Alice leads", cli.ExitUsage, `needs ENTITY RELATION TARGET, not only "Alice leads"`},
		{"relate Alice leads the payments", cli.ExitUsage, `accepts ENTITY RELATION TARGET, not "Alice leads the payments"`},
		{"put /key", cli.ExitUsage, `needs KEY TEXT..., not only "/key"`},
		{"conflicts resolve x best", cli.ExitUsage, `STRATEGY: want one of keep_a, keep_b, keep_both, merge, dismiss, got "best"`},
		{"forget x --yes --prefix /a", cli.ExitUsage, "--prefix, --yes needs --for-good, too"},
		{"mcp -t x --endpoints 127.0.0.1:1", cli.ExitFailed, "cairn: nothing answers at 127.0.0.1:1: "},
		{"audit --limit 0", cli.ExitUsage, "--limit: want a whole number of at least 1, got 0"},
		{"remember x --nope", cli.ExitUsage, "cairn remember has no flag --nope; cairn remember --help lists them"}, // --home is not near
		{"status --nonsense", cli.ExitUsage, "nonsense"},
		{"dev --port-base 70000", cli.ExitUsage, "--port-base"},
		{"dev --log-format xml", cli.ExitUsage, "--log-format"},
		{"dev --log-level loud", cli.ExitUsage, "--log-level"},
		{"db drop x", cli.ExitUsage, "--yes"},
		{"cluster init", cli.ExitUsage, "--node-id"},
		{"cluster remove", cli.ExitUsage, "--node-id"},
		{"cluster join --node-id 7 --peer-addr localhost", cli.ExitUsage, `the host:port of the node's peer port, not "localhost"`},
		{"cluster transfer 1", cli.ExitUsage, "name the node with --node-id"},
		{"token list mine", cli.ExitUsage, `accepts only flags, not "mine"`},
		{"export one two", cli.ExitUsage, "accepts [DATABASE], not"},
		{"forget", cli.ExitUsage, "cairn forget needs RID"},
		{"forget x --token t --endpoints 127.0.0.1", cli.ExitUsage, "host:port"},
		{"status --endpoints ftp://x", cli.ExitUsage, "http://host:port"},
		{"status --watch --interval 0s", cli.ExitUsage, "at least 100ms"},
		{"remember x --importance 7", cli.ExitUsage, "0 to 1"},
		{"remember x --half-life -1", cli.ExitUsage, "above 0"},
		{"remember -", cli.ExitUsage, "text is blank"},
		{"recall x --as-of yesterday", cli.ExitUsage, "--as-of \"yesterday\": want a date"},
		{"recall x --since 2021-01-01 --until 2020-01-01", cli.ExitUsage, "--since is after --until"},
		{"recall x --top 0", cli.ExitUsage, "at least 1"},
		{"token create --expires -1h", cli.ExitUsage, "want a duration from now"},
		{"key list --home " + empty, cli.ExitFailed, "is not encrypted"},
		{"key list --key-file none --home " + empty, cli.ExitFailed, "hint: the file that should hold the master key"},
		{"bench write --nodes 2", cli.ExitUsage, "--nodes"},
		{"bench write --clients 0", cli.ExitUsage, "--clients"},
		{"recall anything --home " + empty, cli.ExitFailed, "hint: start one with `cairn dev`"},
		{"status --home " + empty, cli.ExitFailed, "hint: "},
		{"serve --config " + filepath.Join(empty, "none.toml"), cli.ExitFailed, "hint: `cairn cluster init`"},
		{"recall x --endpoints 127.0.0.1:1 --home " + empty, cli.ExitFailed, "hint: "},
	} {
		t.Run(tc.args, func(t *testing.T) {
			t.Setenv("CAIRN_TOKEN", "")
			t.Setenv("CAIRN_ENDPOINTS", "")
			var out, errw bytes.Buffer
			code := run(t.Context(), strings.Fields(tc.args), strings.NewReader(""), &out, &errw)
			if code != tc.code || !strings.Contains(errw.String(), tc.says) {
				t.Errorf("exit %d, want %d; stderr: %s", code, tc.code, &errw)
			}
			if code == cli.ExitOK && out.Len() == 0 {
				t.Error("nothing on stdout")
			}
			if code != cli.ExitOK && out.Len() > 0 {
				t.Errorf("a failure wrote to stdout: %s", &out)
			}
		})
	}
}

// TestOutputKeys checks the JSON keys that programs rely on.
func TestOutputKeys(t *testing.T) {
	for _, tc := range []struct {
		name string
		v    any
		want string
	}{
		{"ready line", cli.Ready{Ready: true, NodeID: 1, Wire: "w", HTTP: "h", Cluster: "c", Home: "d"},
			`{"ready":true,"node_id":1,"wire":"w","http":"h","cluster":"c","home":"d"}`},
		{"addrs.json", cli.Addresses{Wire: "w", HTTP: "h", Cluster: "c"}, `{"wire":"w","http":"h","cluster":"c"}`},
		{"a version", cli.Build{Version: "v", Commit: "c", Date: "d", Go: "g", Host: "p"},
			`{"version":"v","commit":"c","date":"d","changed":false,"go":"g","platform":"p"}`},
		{"an error", cli.Failure{Error: "e", Hint: "h", Code: "not_leader", WireCode: 6001, Exit: 1},
			`{"error":"e","hint":"h","code":"not_leader","wire_code":6001,"exit":1}`},
	} {
		if got, err := json.Marshal(tc.v); err != nil || string(got) != tc.want {
			t.Errorf("%s: %s (%v), want %s", tc.name, got, err, tc.want)
		}
	}
}

// TestErrorsInJSON checks that with --json the last line of stderr has the error as JSON, and that the exit code is
// the same as without.
func TestErrorsInJSON(t *testing.T) {
	refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusConflict)
		fmt.Fprint(w, `{"error":"taken\nalready","code":"conflict"}`)
	}))
	defer refuses.Close()
	nobody := httptest.NewServer(nil)
	nobody.Close()
	for line, want := range map[string]cli.Failure{
		"put /a text --json -t x --endpoints " + refuses.URL: {Error: "taken\nalready", Code: "conflict", Exit: 1},
		"stats -t x --json --endpoints " + nobody.URL:        {Hint: "check that the node is running, and its address", Exit: 1},
		"status --jsn --json":                                {Exit: 2},
		"backup --json":                                      {Error: "backup needs --to", Exit: 2},
		"nothing --json":                                     {Exit: 2},
		"backup list /nowhere --json":                        {Error: "open /nowhere: no such file or directory", Exit: 1},
	} {
		var out, errw, plain bytes.Buffer
		code := run(t.Context(), strings.Fields(line), strings.NewReader(""), &out, &errw)
		var got cli.Failure
		if err := json.Unmarshal(errw.Bytes(), &got); err != nil || strings.Count(errw.String(), "\n") != 1 || out.Len() != 0 {
			t.Errorf("%s: %v, %s%s", line, err, &out, &errw)
		}
		if want.Error != "" && got.Error != want.Error || want.Hint != "" && got.Hint != want.Hint || got.Error == "" ||
			got.Code != want.Code || got.Exit != want.Exit || code != want.Exit {
			t.Errorf("%s: exit %d, %+v; want %+v", line, code, got, want)
		}
		if again := run(t.Context(), strings.Fields(strings.Replace(line, " --json", "", 1)), strings.NewReader(""), &out, &plain); again != code ||
			!strings.HasPrefix(plain.String(), "cairn: "+got.Error[:3]) {
			t.Errorf("%s without --json: exit %d, %s", line, again, &plain)
		}
	}
	var errw bytes.Buffer
	run(t.Context(), []string{"count", "-t", "x", "--endpoints", nobody.URL, "--", "--json"}, strings.NewReader(""), io.Discard, &errw)
	if !strings.HasPrefix(errw.String(), "cairn: ") {
		t.Errorf("an argument is no flag: %s", &errw)
	}
}

// failingWriter is a writer that always fails, like a full disk.
type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// TestLostOutputIsAFailure checks that a command fails if its output cannot be written, even if its code ignores the
// error.
func TestLostOutputIsAFailure(t *testing.T) {
	for _, verb := range []string{"help", "version", "completion bash"} {
		var errw bytes.Buffer
		if code := run(t.Context(), strings.Fields(verb), strings.NewReader(""), failingWriter{}, &errw); code != cli.ExitFailed ||
			strings.Count(errw.String(), "no space left") != 1 {
			t.Errorf("%s: exit %d, %s", verb, code, &errw)
		}
	}
}

// TestEarlierFlagsAreTaken checks that earlier names of flags, and those of the command line that Cairn is compatible
// with, still work, and that help shows only the new names.
func TestEarlierFlagsAreTaken(t *testing.T) {
	for _, tc := range []struct{ line, flag, want string }{
		{"cluster status --url http://localhost:7438", "endpoints", "[http://localhost:7438]"},
		{"status --url http://localhost:7438 -t x", "endpoints", "[http://localhost:7438]"},
		{"recall who --addr a:1,b:2", "endpoints", "[a:1,b:2]"},
		{"export work --data-dir ./data", "home", "./data"},
		{"db create work --data-dir ./data", "home", "./data"},
		{"token create --db work", "for", "work"},
		{"serve --data-dir ./data", "home", "./data"},
	} {
		c, rest, err := root(&cli.Streams{}).Find(strings.Fields(tc.line))
		if err == nil {
			err = c.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("%s: %v", tc.line, err)
			continue
		}
		if got := c.Flags().Lookup(tc.flag).Value.String(); got != tc.want {
			t.Errorf("%s: --%s is %s", tc.line, tc.flag, got)
		}
		for _, name := range []string{"--url", "--addr", "--db "} {
			if strings.Contains(tc.line, name) && strings.Contains(c.LocalFlags().FlagUsages(), name) && tc.flag != "home" {
				t.Errorf("help of %s shows %s", c.CommandPath(), name)
			}
		}
	}
}

// TestFlagsNameTheirValues checks that the backquoted part of a flag's usage, which is printed as the name of its
// value, is one word.
func TestFlagsNameTheirValues(t *testing.T) {
	line := regexp.MustCompile(`^ +(?:-., )?--[a-z0-9-]+(?: \S+)?  +\S`)
	flags := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		for l := range strings.Lines(c.LocalFlags().FlagUsages()) {
			flags++
			if !line.MatchString(l) {
				t.Errorf("%s: %s", c.CommandPath(), l)
			}
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk(root(&cli.Streams{}))
	if flags < 300 {
		t.Errorf("only %d flags were looked at", flags)
	}
}
