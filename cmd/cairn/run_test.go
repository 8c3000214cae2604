package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
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
		{"completion bash", cli.ExitOK, ""},
		{"--help", cli.ExitOK, ""},
		{"nonsense", cli.ExitUsage, `cairn has no verb "nonsense"; cairn --help lists them`},
		{"rember x", cli.ExitUsage, "did you mean cairn remember?"},
		{"conf list", cli.ExitUsage, "did you mean cairn conflicts?"},
		{"db crate x", cli.ExitUsage, "did you mean cairn db create?"},
		{"recall x --namspace y", cli.ExitUsage, "cairn recall has no flag --namspace: did you mean --namespace?"},
		{"recall x --top many", cli.ExitUsage, `--top: want a whole number of at least 0, got "many"`},
		{"recall x --timeout soon", cli.ExitUsage, `--timeout: want a time such as 500ms, 15s or 1h30m, got "soon"`},
		{"remember x --importance high", cli.ExitUsage, `--importance: want a number from 0 to 1, got "high"`},
		{"status --watch=often", cli.ExitUsage, `--watch: want true or false, got "often"`},
		{"token create --expires 7d", cli.ExitUsage, `--expires: want a time such as 500ms, 15s or 1h30m, got "7d"`},
		{"list --limit many", cli.ExitUsage, `--limit: want a whole number of at least 0, got "many"`},
		{"list --sort size", cli.ExitUsage, `--sort: want one of created_at, importance, last_access, got "size"`},
		{"correct x", cli.ExitUsage, "--reason is missing"},
		{"correct x --reason y --metadata z", cli.ExitUsage, `--metadata: want JSON, got "z"`},
		{"conflicts", cli.ExitUsage, "needs a verb"},
		{"db", cli.ExitUsage, "needs a verb"},
		{"db nonsense", cli.ExitUsage, "nonsense"},
		{"recall", cli.ExitUsage, "needs QUESTION"},
		{"relate Alice leads", cli.ExitUsage, "takes ENTITY RELATION TARGET"},
		{"status --nonsense", cli.ExitUsage, "nonsense"},
		{"dev --port-base 70000", cli.ExitUsage, "--port-base"},
		{"dev --log-format xml", cli.ExitUsage, "--log-format"},
		{"dev --log-level loud", cli.ExitUsage, "--log-level"},
		{"db drop x", cli.ExitUsage, "--yes"},
		{"cluster init", cli.ExitUsage, "--node-id"},
		{"cluster remove", cli.ExitUsage, "--node-id"},
		{"cluster transfer 1", cli.ExitUsage, "named with --node-id"},
		{"token list mine", cli.ExitUsage, `takes flags alone, not "mine"`},
		{"export one two", cli.ExitUsage, "takes [DATABASE], not"},
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
		{"token create --expires -1h", cli.ExitUsage, "want a duration above 0"},
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

// TestOutputKeys pins the keys that programs read.
func TestOutputKeys(t *testing.T) {
	for _, tc := range []struct {
		name string
		v    any
		want string
	}{
		{"ready line", cli.Ready{Ready: true, NodeID: 1, Wire: "w", HTTP: "h", Cluster: "c", Home: "d"},
			`{"ready":true,"node_id":1,"wire":"w","http":"h","cluster":"c","home":"d"}`},
		{"addrs.json", cli.Addresses{Wire: "w", HTTP: "h", Cluster: "c"}, `{"wire":"w","http":"h","cluster":"c"}`},
		{"a version", cli.Build{Version: "v", Commit: "c", Date: "d", Go: "g", Host: "p"}, `{"version":"v","commit":"c","date":"d","changed":false,"go":"g","platform":"p"}`},
		{"a recall", recalled{Results: []hit{{RID: "r", Score: 0.5, Text: "t", Type: "semantic", Namespace: "n", Created: 2, Metadata: []byte("null"), Why: []string{"w"}}}, Total: 1, Index: 7},
			`{"results":[{"rid":"r","score":0.5,"text":"t","memory_type":"semantic","namespace":"n","created_at":2,"metadata":null,"why_retrieved":["w"]}],"total":1,"index":7,"lag_seconds":null,"considered":0,"below_min_score":0}`},
	} {
		if got, err := json.Marshal(tc.v); err != nil || string(got) != tc.want {
			t.Errorf("%s: %s (%v), want %s", tc.name, got, err, tc.want)
		}
	}
}

func TestStatusForAPerson(t *testing.T) {
	leader, two := uint32(2), uint64(2)
	vitals := func(at oplog.Index, sum, version string, up float64, left api.Leftovers, found ...api.Damage) api.Vitals {
		return api.Vitals{Applied: at, SumIndex: at, Sum: sum, Version: version, UptimeSecs: up, Leftovers: left, Damaged: found}
	}
	files := []api.Damage{{Kind: "state", File: "state/1/000004.sst", Times: 2, Heals: "restart it"}, {Kind: "state", File: "state/1/000007.sst", Times: 1, Heals: "restart it"},
		{Kind: "index", Database: "garden", File: "index/2-1/text/000000000001.zap", Times: 1, Healed: true, Heals: "check the disk"}}
	s := api.ClusterStatus{Clustered: true, NodeID: 1, Role: "Follower", CurrentTerm: 3, LeaderID: &leader, Healthy: true, Condition: "degraded: node 3 unreachable", QuorumSize: 2, Cluster: "c1",
		Wire: "a:1", Commit: 12, Lag: &two, Vitals: vitals(10, "0123456789", "v1", 61.5, api.Leftovers{SetAside: []string{"state.corrupt-1", "raft.corrupt-1"}}),
		Store: api.Store{Bytes: 12_345_678, Tables: 9, Unmerged: 3_000_000},
		Peers: []api.Peer{
			{Store: &api.Store{Bytes: 1e6, Tables: 2, Damaged: 3}, NodeID: 2, Wire: "b:1", State: "Leader", Voter: true, Reachable: true, LagEntries: new(uint64), Vitals: vitals(12, "abcdef", "v1", 3, api.Leftovers{HoldPurge: true}, files...)},
			{NodeID: 3, Voter: true},
			{NodeID: 4, Wire: "d:1", State: "Follower", Reachable: true, LagEntries: &two, Vitals: vitals(10, "0123456789", "v1", 3, api.Leftovers{})},
			{NodeID: 5, Wire: "e:1", State: "Follower", Reachable: true, LagEntries: &two, Vitals: vitals(10, "different", "v2", 3, api.Leftovers{})},
		}}
	var out bytes.Buffer
	if err := printStatus(&out, s); err != nil {
		t.Fatal(err)
	}
	want := `cluster c1  degraded: node 3 unreachable
leader node 2  term 3  quorum 2 of 3
node 1  moved files aside that were damaged or differ from a majority's: state.corrupt-1, raft.corrupt-1
        keep them until every member is healthy, then remove them (runbooks damaged-state.md, divergence.md)
node 2  its files may hold purged text until it has rewritten them (runbook erase.md)
node 2  found damage in its state: state/1/000004.sst (2 times), state/1/000007.sst (once)
        restart it
node 2  found damage in its index of database garden: index/2-1/text/000000000001.zap (once)
        check the disk

NODE  ROLE                REACHABLE  APPLIED  LAG  STATE       WIRE  VERSION  UP
1 *   Follower            yes        10       2    01234567    a:1   v1       1m1s
2     Leader              yes        12       0    at 12       b:1   v1       3s
3     -                   NO         -        -    -           -     -        -
4     Follower (replica)  yes        10       2    01234567 =  d:1   v1       3s
5     Follower (replica)  yes        10       2    DIVERGED    e:1   v2       3s

NODE  DISK     TABLES  BEHIND  DAMAGED
1 *   12.3 MB  9       3.0 MB  0
2     1.0 MB   2       0.0 MB  3
3     -        -       -       -
4     -        -       -       -
5     -        -       -       -
`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

// TestFlagsNameTheirValues: what stands in backquotes in a flag's usage is printed as the name of its value, so that it
// must be one word.
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
	walk((&app{}).root())
	if flags < 300 {
		t.Errorf("only %d flags were looked at", flags)
	}
}

// TestBoundsAreSaid: without a burst a second's worth of requests may come at once, not any number.
func TestBoundsAreSaid(t *testing.T) {
	for want, l := range map[string][2]uint32{"unbounded": {0, 5}, "7/s, 7 at once": {7, 0}, "7/s, 20 at once": {7, 20}} {
		if got := admitted(l[0], l[1]); got != want {
			t.Errorf("%v: %q, want %q", l, got, want)
		}
	}
}
