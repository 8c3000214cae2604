package redact

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

func TestMasks(t *testing.T) {
	alnum := strings.Repeat("aB3", 20)
	for in, want := range map[string]string{
		// The long known ones.
		"a <private>x\ny</private> b <private>z</private>": "a [REDACTED:private] b [REDACTED:private]",
		"<private>unclosed":                  "<private>unclosed",
		"id AKIAIOSFODNN7EXAMPLE.":           "id [REDACTED:aws].",
		"xAKIAIOSFODNN7EXAMPLE":              "xAKIAIOSFODNN7EXAMPLE",
		"ghp_" + alnum[:36]:                  "[REDACTED:github]",
		"sk-ant-" + alnum[:20]:               "[REDACTED:anthropic]",
		"sk-" + alnum[:32]:                   "[REDACTED:openai]",
		"bearer  " + alnum[:20]:              "Bearer [REDACTED]",
		"Bearer\u00a0" + alnum[:20]:          "Bearer [REDACTED]",
		"Bearer eyJabc.eyJdef.ghijklmnop":    "Bearer [REDACTED]",
		"x eyJabc.eyJdef.ghi y":              "x [REDACTED:jwt] y",
		"me@x.io":                            "[REDACTED:email]",
		"a@b.c":                              "a@b.c",
		"+1 415 555 1212":                    "+[REDACTED:phone]",
		"postgres://u:p4ss@db.example.com/x": "postgres://u:[REDACTED:email]/x",
		"tel 415-555-1212, (030) 555 1212":   "tel [REDACTED:phone], [REDACTED:phone]",
		"call +4915112345678 now":            "call +[REDACTED:phone] now",
		// What is not a secret.
		"1714688532000":                        "1714688532000",
		"pid 123456789":                        "pid 123456789",
		"192.168.100.200":                      "192.168.100.200",
		"192.168.100.200:8080":                 "192.168.100.200:8080",
		"2024-05-01 12:30:00.123":              "2024-05-01 12:30:00.123",
		"550e8400-1234-4716-4466-446655440000": "550e8400-1234-4716-4466-446655440000",
		"max_tokens: 4096":                     "max_tokens: 4096",
		"token := lexer.next()":                "token := lexer.next()",
		"token = lexer(next)":                  "token = lexer(next)",
		"if password == nil {":                 "if password == nil {",
		"password: string":                     "password: string",
		"http://localhost:8080/path":           "http://localhost:8080/path",
		// What the long known ones miss.
		"ASIAIOSFODNN7EXAMPLE":              "[REDACTED:aws]",
		"gho_" + alnum[:36]:                 "[REDACTED:github]",
		"github_pat_" + alnum[:50]:          "[REDACTED:github]",
		"sk-proj-" + alnum:                  "[REDACTED:openai]",
		"sk_live_" + alnum[:24]:             "[REDACTED:stripe]",
		"xoxb-1234567890-" + alnum[:20]:     "[REDACTED:slack]",
		"AIza" + alnum[:35]:                 "[REDACTED:google]",
		"cairn_access_" + alnum:             "[REDACTED:secret]",
		"ydb_" + strings.Repeat("0a", 32):   "[REDACTED:secret]",
		"ydb_cluster_" + alnum:              "ydb_cluster_" + alnum,
		"password=hunter2":                  "password=[REDACTED:secret]",
		"PASSWORD = \"hunter 2\"":           "PASSWORD = \"[REDACTED:secret]\"",
		`{"apiKey":"abc"}`:                  `{"apiKey":"[REDACTED:secret]"}`,
		`"{\"api_key\":\"abc\"}"`:           `"{\"api_key\":\"[REDACTED:secret]\"}"`,
		"redis://:pw@localhost:6379":        "redis://:[REDACTED:secret]@localhost:6379",
		"amqp://u:p!x@mq.example.com/":      "amqp://u:[REDACTED:email]/",
		"curl -u admin:s3cret http://x":     "curl -u admin:[REDACTED:secret] http://x",
		"mysql --password hunter2 -h x":     "mysql --password [REDACTED:secret] -h x",
		"Authorization: Basic dXNlcjpwYXNz": "Authorization: Basic [REDACTED:secret]",
		"token: [REDACTED:github]":          "token: [REDACTED:github]",
		"-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\nx":                   "[REDACTED:pem]\nx",
		"-----BEGIN PRIVATE KEY-----\ncut off":                                                     "[REDACTED:pem]",
		"blob " + base64.StdEncoding.EncodeToString([]byte("export DB_PASSWORD=hunter2")) + " end": "blob [REDACTED:secret] end",
	} {
		if got := String(in); got != want {
			t.Errorf("%q\n got %q\nwant %q", in, got, want)
		}
		if got := String(want); got != want {
			t.Errorf("%q is redacted again, to %q", want, got)
		}
	}
}

func TestJSON(t *testing.T) {
	for in, want := range map[string]string{
		`{"x": "\u003cprivate\u003eplan\u003c/private\u003e"}`: `{"x":"[REDACTED:private]"}`,
		`[1.50, "plain \u0041"]`:                               `[1.50, "plain \u0041"]`,
		`["a \u0070assword=x1y2"]`:                             `["a password=[REDACTED:secret]"]`,
	} {
		if got, differs := JSON(in); got != want || differs != (in != want) {
			t.Errorf("%s: %v, differs: %t", in, got, differs)
		}
	}
	in := `{"a":["me@x.io",5,null,{"password":"x","n":1}],"me@x.io":"k","you@x.io":"l","env":[{"name":"DB_PASSWORD","value":"pw"}],
		"pem":["a","-----BEGIN PRIVATE KEY-----","abc","-----END PRIVATE KEY-----","b"],"args":["run","--token","abc","-v"],"secrets":["one","two"],"password":"[REDACTED:github]","tokens":12}`
	want := `{"a":["[REDACTED:email]",5,null,{"password":"[REDACTED:secret]","n":1}],"[REDACTED:email]":"k","[REDACTED:email]#2":"l",
		"env":[{"name":"DB_PASSWORD","value":"[REDACTED:secret]"}],"pem":["a","[REDACTED:pem]","[REDACTED:pem]","[REDACTED:pem]","b"],"args":["run","--token","[REDACTED:secret]","-v"],
		"secrets":["[REDACTED:secret]","[REDACTED:secret]"],"password":"[REDACTED:github]","tokens":12}`
	var v, w any
	if err := json.Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	got, differs := JSON(v)
	if !reflect.DeepEqual(got, w) || !differs {
		t.Errorf("got  %v, differs: %t\nwant %v", got, differs, w)
	}
	var before any
	if err := json.Unmarshal([]byte(in), &before); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(v, before) {
		t.Errorf("what was given became %v", v)
	}
	if again, differs := JSON(w); !reflect.DeepEqual(again, w) || differs {
		t.Errorf("redacted again: %v, differs: %t", again, differs)
	}
}

// worked returns the CPU time of this process, which does not depend on the load of the machine.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestLongText checks that the rules are about linear in the length of the text, so that the largest frame does not
// occupy a core.
func TestLongText(t *testing.T) {
	suite.Full(t)
	size := 1 << 20
	if testing.Short() {
		size = 1 << 16 // the race detector is twenty times slower
	}
	for _, unit := range []string{"plain words go on and on ", "pass token key secret ", "@.", "0123456789 ", "a+b/", "sk-",
		"://x:", "-u ", "password="} {
		before := worked(t)
		String(strings.Repeat(unit, size/len(unit)))
		if took := worked(t) - before; took > 10*time.Second {
			t.Errorf("%d bytes of %q took %s", size, unit, took)
		} else {
			t.Logf("%q: %s", unit, took)
		}
	}
}

// TestManyKeysBecomeOne: redaction of an object with many addresses as keys is also fast.
func TestManyKeysBecomeOne(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: measures, which the race detector falsifies")
	}
	addresses, others := map[string]any{}, map[string]any{}
	for i := range 20_000 {
		addresses[fmt.Sprintf("someone%d@x.io", i)] = i
		others[fmt.Sprintf("someone%d.x.io", i)] = i
	}
	before := worked(t)
	JSON(others)
	plain := worked(t) - before
	clean, _ := JSON(addresses)
	took := worked(t) - before - plain
	if took > 20*plain {
		t.Errorf("keys that become one took %s, others %s", took, plain)
	}
	m := clean.(map[string]any)
	if _, first := m["[REDACTED:email]"]; len(m) != len(addresses) || !first || m["[REDACTED:email]#20000"] == nil {
		t.Errorf("%d keys of %d", len(m), len(addresses))
	}
}

func FuzzString(f *testing.F) {
	f.Add("password=hunter2 AKIAIOSFODNN7EXAMPLE me@x.io")
	f.Add("+1 415 555 1212 <private>")
	f.Fuzz(func(t *testing.T, s string) {
		once := String(s)
		for _, v := range []any{s, []any{s}, map[string]any{s: s}} {
			JSON(v)
		}
		if strings.Contains(once, "\x00") && !strings.Contains(s, "\x00") {
			t.Fatalf("%q became %q", s, once)
		}
	})
}

// TestEveryExpressionCompiles: all lazily compiled expressions are valid.
func TestEveryExpressionCompiles(t *testing.T) {
	for _, e := range allExpressions {
		e()
	}
	if len(allExpressions) < 20 {
		t.Errorf("%d expressions", len(allExpressions))
	}
}
