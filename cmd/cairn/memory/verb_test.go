package memory

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// TestEveryOperationOfMemoriesIsAVerb: each HTTP operation about memories is at least one verb.
func TestEveryOperationOfMemoriesIsAVerb(t *testing.T) {
	all := verbs()
	for _, s := range api.Subjects {
		for _, op := range s.Ops {
			has := slices.ContainsFunc(all, func(v verb) bool { return v.op == op })
			if want := slices.Contains(verbSubjects, s.Name) && op.HTTP != "" && coveredElsewhere[op] == ""; has != want && op != api.Purge.Op { // of the administration of databases
				t.Errorf("%s is a verb: %t, want %t", op.Name, has, want)
			}
		}
	}
	for i, v := range all {
		name, _, _ := strings.Cut(v.use, " ")
		for _, w := range all[:i] {
			if other, _, _ := strings.Cut(w.use, " "); other == name && v.group == w.group {
				t.Errorf("two verbs are called %s %s", v.group, name)
			}
		}
	}
}

// TestAVerbWithoutARow: an operation without an entry in list becomes a complete verb.
func TestAVerbWithoutARow(t *testing.T) {
	for op, want := range map[*api.Op]string{api.Undo.Op: "undo RID", api.Revisions.Op: "revisions RID",
		api.Stats.Op: "stats", api.Claim.Op: "ingest-claim SRC REL_TYPE DST"} {
		if v := defaultVerb(op); v.use != want || v.command(&cli.Streams{}).Short != strings.TrimSuffix(op.Does, ".") {
			t.Errorf("%s is %q, want %q", op.Name, v.use, want)
		}
	}
}

// TestVerbsNameFieldsThatAre: arguments, columns and flags are fields of the operation. Required fields can be given,
// flag names are unique, and every path parameter is an argument.
func TestVerbsNameFieldsThatAre(t *testing.T) {
	for _, v := range verbs() {
		v.shownFields() // panics where a column is not a field of the answer
		c := v.command(&cli.Streams{})
		for _, name := range slices.Concat(v.args, v.omit) {
			v.op.Takes().Named(name)
		}
		for name := range v.flagNames {
			v.op.Takes().Named(name)
		}
		for _, f := range v.flags() {
			if c.Flags().Lookup(v.flag(f)) == nil {
				t.Errorf("%s: no flag for %s", v.use, f.Name)
			}
			if f.In == "path" {
				t.Errorf("%s: %s is part of the path and no argument", v.use, f.Name)
			}
		}
		if n := len(strings.Fields(v.use)) - 1; n != len(v.args) {
			t.Errorf("%s: %d words for %d arguments", v.use, n, len(v.args))
		}
		for i, word := range strings.Fields(v.use)[1:] {
			if f := v.op.Takes().Named(v.args[i]); !f.Kind.RID && !strings.Contains(c.Long, f.Doc) {
				t.Errorf("%s: help does not say what %s is", v.use, word)
			} else if name := strings.Trim(word, "[]."); !f.Kind.RID && !strings.Contains(c.Long, "\n  "+name+" ") {
				t.Errorf("%s: help does not indent %s:\n%s", v.use, name, c.Long)
			}
		}
		if strings.HasSuffix(c.Short, ".") || len(c.Short) > 90 {
			t.Errorf("%s: help has a line for it: %q", v.use, c.Short)
		}
	}
}

// TestATextOnInputHasABound: a text from standard input that no node would store is rejected before it is sent.
func TestATextOnInputHasABound(t *testing.T) {
	var out, errs strings.Builder
	s := &cli.Streams{In: strings.NewReader(strings.Repeat("a", 30<<20)), Out: &out, Err: &errs}
	v := verbs()[slices.IndexFunc(verbs(), func(v verb) bool { return v.use == "remember TEXT..." })]
	_, err := v.joinText(t.Context(), s, []string{"-"})
	if want := "standard input has over 2097152 bytes: a text has at most 1048576"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestObjectsAreShown: nested objects are not printed as JSON: an object in a list is a line, with formatted dates,
// and null is blank.
func TestObjectsAreShown(t *testing.T) {
	show := func(name, answer string) string {
		var out, errs strings.Builder
		v := verbs()[slices.IndexFunc(verbs(), func(v verb) bool { return v.use == name || v.group+" "+v.use == name })]
		if err := v.printValues(&cli.Streams{Out: &out, Err: &errs}, []byte(answer)); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	day := time.Unix(1.8e9, 0).Format("2006-01-02 15:04:05")
	for _, tc := range []struct{ name, answer, want string }{
		{"digest", `{"top_decisions":[{"rid":"r1","snippet":"Ada likes tea","memory_type":"semantic","importance":0.5,"created_at":1.8e9},{"rid":"r2","snippet":"Bo"}],"open_conflicts":[]}`,
			"top_decisions  r1  semantic  0.5  " + day + "  Ada likes tea\n               r2  Bo\n"},
		{"erased RID", `{"statement":{"rid":"r1","database":"default","vector":true,"still_held_by":["logs, until a snapshot","files"]},"node_id":1}`,
			"rid            r1\ndatabase       default\nvector         yes\nstill_held_by  logs, until a snapshot\n               files\nnode_id        1\n"},
		{"conflicts list", `{"conflicts":[{"conflict_id":"c1","side_a":{"kind":"memory","text":null,"created_at":null},"side_b":{"kind":"memory","text":"Bob works"}}]}`,
			"CONFLICT ID  PRIORITY  STATUS  STRATEGY  ENTITY  SIDE A  SIDE B\nc1           -         -       -         -       -       Bob works\n"},
		{"triggers list", `{"triggers":[{"trigger_id":"t1","status":"pending","urgency":1,"reason":"stored 365 days ago","source_rids":["r1","r2"]}]}`,
			"TRIGGER ID  STATUS   URGENCY  TRIGGER TYPE  CREATED AT  REASON               SUGGESTED ACTION  SOURCE RIDS\nt1          pending  1        -             -           stored 365 days ago  -                 r1, r2\n"},
	} {
		if got := show(tc.name, tc.answer); got != tc.want {
			t.Errorf("%s:\n%s, want\n%s", tc.name, got, tc.want)
		}
	}
}

// TestListsSayThatTheyGoOn: an incomplete list is reported on stderr, with the flag for the next rows.
func TestListsSayThatTheyGoOn(t *testing.T) {
	for _, tc := range []struct{ name, answer, want string }{
		{"list", `{"limit":2,"offset":1,"total":4,"items":[{"rid":"a"},{"rid":"b"}],"next_offset":3}`,
			"there are more: --offset 3 shows the next\n"},
		{"list", `{"limit":2,"offset":2,"total":4,"items":[{"rid":"a"},{"rid":"b"}]}`, ""},
		{"list", `{"records":[{"rid":"a"}],"next_cursor":"a"}`, "there are more: --since-rid a shows the next\n"},
		{"keys [PREFIX]", `{"keys":[{"key":"/a b"}],"next":"/a b"}`, "there are more: --after '/a b' shows the next\n"},
		{"keys [PREFIX]", `{"keys":[{"key":"/a"}],"next":null}`, ""},
		{"entities", `{"entities":[{"name":"Ada"},{"name":"Bo"}],"next":"Bo"}`, "there are more: --after Bo shows the next\n"},
		{"list", `{"limit":2,"total":4,"items":[],"cursor":"12.3"}`, "nothing found\nthere are more: --cursor 12.3 shows the next\n"},
		{"sessions list", `{"sessions":[{"session_id":"a"},{"session_id":"b"}],"incomplete":"more may match than these 2"}`,
			"more may match than these 2\n"},
		{"gaps", `{"gaps":[{"query":"a"},{"query":"b"}]}`, "the first 2: --limit shows more, if there are more\n"},
		{"entities", `{"entities":[{"name":"Ada"}]}`, ""},
		{"tasks list", `{"tasks":[{"id":"a"}],"count":1,"more":true}`, "the first 1: --limit shows more, if there are more\n"},
		{"stale", `{"items":[{"rid":"a"}],"count":1,"left_out":true}`,
			"rows were left out, because the answer reached 16 MiB of memories\n"},
		{"gaps --limit 2000", `{"gaps":[` + strings.TrimSuffix(strings.Repeat(`{"query":"a"},`, api.MaxList), ",") + `]}`,
			"the first 1000, which is as many as a list has: narrow it, if there are more\n"},
		{"history RID", `{"revisions":[{"revision":0}],"next_offset":1}`, "there are more: --offset 1 shows the next\n"},
	} {
		var out, errs strings.Builder
		name, limit, asks := strings.Cut(tc.name, " --limit ")
		v := verbs()[slices.IndexFunc(verbs(), func(v verb) bool { return v.use == name || v.group+" "+v.use == name })]
		if !asks {
			limit = "2"
		}
		v.maxRows = v.limit(Given{"limit": {limit}})
		if err := v.printValues(&cli.Streams{Out: &out, Err: &errs}, []byte(tc.answer)); err != nil {
			t.Fatal(err)
		}
		if got := errs.String(); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

// TestNearMemoriesAreShown: stdout has only the id, stderr the memories that the new one may replace.
func TestNearMemoriesAreShown(t *testing.T) {
	v := verbs()[slices.IndexFunc(verbs(), func(v verb) bool { return v.op == api.Remember.Op })]
	var out, errs strings.Builder
	err := v.printValues(&cli.Streams{Out: &out, Err: &errs}, []byte(`{"rid":"r2","near":[{"rid":"r1","text":"The fence is green","score":0.9}]}`))
	if err != nil || out.String() != "r2\n" || errs.String() != "it may replace:\nr1  The fence is green\n" {
		t.Errorf("%q, %q, %v", out.String(), errs.String(), err)
	}
}

// TestFlagsRefuseWhatNobodyMeans: flags reject a limit of 0, and text that is not UTF-8.
func TestFlagsRefuseWhatNobodyMeans(t *testing.T) {
	for typed, want := range map[string]string{
		"list --limit 0":           `--limit: want a whole number of at least 1, got "0"`,
		"conflicts list --limit 0": "", // means the default, as its help says
		"list --domain caf\xe9":    "--domain: byte 3 is not UTF-8",
		"remember caf\xe9 noir":    "text: byte 3 is not UTF-8",
	} {
		words := strings.Fields(typed)
		v := verbs()[slices.IndexFunc(verbs(), func(v verb) bool {
			name, _, _ := strings.Cut(v.use, " ")
			return v.group == "" && name == words[0] || v.group == words[0] && name == words[1]
		})]
		c := v.command(&cli.Streams{Out: io.Discard, Err: io.Discard})
		c.SilenceErrors, c.SilenceUsage = true, true
		c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return cli.FlagError(c, err) })
		c.SetArgs(append(slices.DeleteFunc(words[1:], func(w string) bool { return v.group != "" && strings.HasPrefix(v.use, w) }),
			"--endpoints", "127.0.0.1:1", "--token", "t"))
		err := c.ExecuteContext(t.Context())
		if want == "" && (err == nil || !strings.Contains(err.Error(), "127.0.0.1:1")) ||
			want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: %v, want %q", typed, err, want)
		}
	}
}

// TestAPurgeAsksWhatItErases: the question names the memories to erase.
func TestAPurgeAsksWhatItErases(t *testing.T) {
	got := purgeQuestion(Given{"before": {"365d"}, "namespace": {"logs"}})
	if want := "Erase all memories created before 365d, of namespace logs for good?"; got != want {
		t.Errorf("it asks %q, want %q", got, want)
	}
	at := time.Date(2026, 1, 31, 12, 0, 0, 5e8, time.UTC)
	got = purgeQuestion(Given{"before": {at.Format(time.RFC3339Nano)}})
	if want := "Erase all memories created before " + at.Local().Format("2006-01-02 15:04:05 MST") + " for good?"; got != want {
		t.Errorf("it asks %q, want %q", got, want)
	}
}

// TestRequests: a command line becomes the expected HTTP request.
func TestRequests(t *testing.T) {
	for _, tc := range []struct{ typed, method, path, body string }{
		{"get 0190", "GET", "/v1/memory/0190", ""},
		{"get a/b --consistency linearizable", "GET", "/v1/memory/a%2Fb?consistency=linearizable", ""},
		{"list -n work --limit 5 --before 2026-01-31", "GET", "/v1/memories?before=2026-01-31&limit=5&namespace=work", ""},
		{"list --around 0190 --limit 2", "GET", "/v1/memory/0190/timeline?limit=2", ""},
		{"list --entity Ada --after 2026-01-31", "GET", "/v1/chronology?entity=Ada&from=2026-01-31", ""},
		{"put /a tea --ttl 30d", "POST", "/v1/put", `{"key":"/a","text":"tea","ttl":2592000}`},
		{"correct 0190 Bob --reason moved --importance 0.9 --metadata {\"a\":null} --embedding 1,2.5", "POST", "/v1/correct",
			`{"embedding":[1,2.5],"metadata_merge":{"a":null},"new_importance":0.9,"new_text":"Bob","reason":"moved","rid":"0190"}`},
		{"unrelate 7", "DELETE", "/v1/edges/7", `{}`},
		{"claim Ada drinks tea --valid-from 2026-01-31 --valid-to 1800000000 --polarity -1", "POST", "/v1/claim",
			`{"dst":"tea","polarity":-1,"rel_type":"drinks","src":"Ada","valid_from":"2026-01-31","valid_to":1800000000}`},
		{"triggers act 7", "POST", "/v1/triggers/7/act", `{}`},
		{"think --run-pattern-mining --run-consolidation=false", "POST", "/v1/think",
			`{"progress":true,"run_consolidation":false,"run_pattern_mining":true}`},
		{"watch --type stored,forgotten --type corrected", "GET", "/v1/events?type=stored&type=forgotten&type=corrected", ""},
	} {
		words := strings.Fields(tc.typed)
		i := slices.IndexFunc(list, func(v verb) bool {
			name, _, _ := strings.Cut(v.use, " ")
			return name == words[0] || v.group == words[0] && name == words[1]
		})
		v := list[i]
		if v.group != "" {
			words = words[1:]
		}
		c := v.command(&cli.Streams{Out: io.Discard, Err: io.Discard})
		given := map[string][]string{}
		fs := c.Flags()
		for _, f := range v.flags() { // the values of the command are its own: these are the test's
			fs.Lookup(v.flag(f)).Value = &flagValue{f, "--" + v.flag(f), given}
		}
		if err := fs.Parse(words[1:]); err != nil {
			t.Errorf("%s: %v", tc.typed, err)
			continue
		}
		v, given, err := v.withAlternative(given)
		if err == nil {
			err = v.complete(given, fs.Args())
		}
		if err != nil {
			t.Errorf("%s: %v", tc.typed, err)
			continue
		}
		path, body := v.request(given)
		text := ""
		if body != nil {
			b, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			text = string(b)
		}
		if got, want := [3]string{v.op.Method(), path, text}, [3]string{tc.method, tc.path, tc.body}; got != want {
			t.Errorf("%s:\n got %q\nwant %q", tc.typed, got, want)
		}
	}
}

// TestEventsOfAStream: events are reported in order, and the last position to resume after is known, also that of the
// subscription before the first event.
func TestEventsOfAStream(t *testing.T) {
	const begun = "event: subscribed\ndata: {\"index\":40}\n\n"
	for stream, want := range map[string]string{
		begun: "40",
		begun + ":\n\nid: 41\nevent: stored\ndata: {\"rid\":\"a\"}\n\nevent: stored\ndata: {}\n\n": "41",
		begun + "id: 41\nevent: stored\n": "40", // it was cut off: it comes again
	} {
		var names []string
		last, err := readEvents(strings.NewReader(stream), func(e event) error { names = append(names, e.Name); return nil })
		if err != nil || last != want || !reflect.DeepEqual(names[0], "subscribed") {
			t.Errorf("%q: last %q of %v, %v; want %q", stream, last, names, err, want)
		}
	}
}

// TestNothingThereIsNoResult: if the named object does not exist, the command fails. It prints the answer only as
// JSON, for programs.
func TestNothingThereIsNoResult(t *testing.T) {
	for _, v := range []verb{{op: api.Unrelate.Op, columns: []string{"edge_id", "found"}}, {op: api.Forget.Op, message: "forgotten"}} {
		for asJSON, want := range map[bool]string{false: "", true: "{\n  \"edge_id\": \"nosuch\",\n  \"found\": false\n}\n"} {
			var out strings.Builder
			if err := v.printAnswer(&cli.Streams{Out: &out}, asJSON, []byte(`{"edge_id":"nosuch","found":false}`)); err == nil ||
				out.String() != want {
				t.Errorf("%s: %v, %q", v.op.Name, err, out.String())
			}
		}
	}
}

// TestASecondSessionIsAdvised: a client that has an active session is told how to find and end it.
func TestASecondSessionIsAdvised(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/sessions" {
			http.Error(w, `{"error":"session conflict: active session already exists","code":"session_conflict"}`, http.StatusConflict)
		}
	}))
	t.Cleanup(srv.Close)
	s := &cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	c := verbs()[slices.IndexFunc(verbs(), func(v verb) bool { return v.group == "sessions" && v.use == "start" })].command(s)
	c.SetArgs([]string{"--endpoints", srv.URL, "-t", "x"})
	c.SilenceErrors, c.SilenceUsage = true, true
	var errs strings.Builder
	if cli.Exit(c.ExecuteContext(t.Context()), &errs); !strings.Contains(errs.String(), "hint: `cairn sessions list --active` shows it") {
		t.Errorf("got %s", &errs)
	}
}
