package sift

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// planted holds secrets, each with the part that must not appear anywhere. A number replaces %s, so that they differ.
var planted = []struct{ text, core string }{
	{"<private>Zq%sprivate plan</private>", "Zq%sprivate"},
	{"AKIAZQ%sIOSFODNN7E", "AKIAZQ%sIOSFODNN"},
	{"ASIAZQ%sIOSFODNN7E", "ASIAZQ%sIOSFODNN"},
	{"ghp_Zq%saB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3a", "ghp_Zq%saB3"},
	{"gho_Zq%saB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3a", "gho_Zq%saB3"},
	{"github_pat_Zq%saB3aB3aB3aB3aB3aB3_aB3aB3aB3aB3", "pat_Zq%saB3"},
	{"sk-ant-api03-Zq%saB3aB3aB3aB3aB3aB3", "Zq%saB3"},
	{"sk-Zq%saB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3", "Zq%saB3"},
	{"sk-proj-Zq%saB3aB3_aB3aB3-aB3aB3aB3aB3", "Zq%saB3"},
	{"Bearer Zq%saB3.aB3aB3aB3aB3aB3aB3", "Zq%saB3"},
	{"eyJZq%saB3.eyJaB3aB3.aB3aB3aB3", "eyJZq%saB3"},
	{"zq%sboss@corp.example", "zq%sboss"},
	{"+1 415 555 %s77", "555 %s77"},
	{"sk_live_Zq%saB3aB3aB3aB3aB3", "live_Zq%sa"},
	{"xoxb-12345-Zq%saB3aB3aB3aB3", "Zq%saB3"},
	{"AIzaZq%saB3aB3aB3aB3aB3aB3aB3aB3aB3aB3", "AIzaZq%sa"},
	{"-----BEGIN RSA PRIVATE KEY-----\nZq%saB3aB3\nend\n-----END RSA PRIVATE KEY-----", "Zq%saB3"},
	{"password=Zq%shunter", "Zq%shunter"},
	{"API_KEY: 'Zq%shunter'", "Zq%shunter"},
	{"postgres://admin:Zq%sp4ss@localhost/db", "Zq%sp4ss"},
	{"Authorization: Basic Zq%sdXNlcjpwYXNz", "Zq%sdXN"},
}

// placements lists the ways to put a secret into a payload.
var placements = []func(secret string) any{
	func(s string) any { return s },
	func(s string) any {
		return map[string]any{"tool_input": map[string]any{"command": "echo " + s}, "tool_response": s + "\nerror: " + s}
	},
	func(s string) any {
		return map[string]any{"tool_input": map[string]any{"file_path": "/x/" + s, "content": "a " + s + " b"}}
	},
	func(s string) any { return []any{1, nil, []any{map[string]any{"deep": []any{"x", " " + s + " "}}}} },
	func(s string) any { return map[string]any{" " + s + " ": "as a key"} },
	func(s string) any { return map[string]any{"message": "notice: " + s + ";"} },
	func(s string) any {
		b, _ := json.Marshal(map[string]any{"inner": " " + s})
		return map[string]any{"json": string(b)}
	},
	func(s string) any { return map[string]any{"text": "lines\n" + s + "\nlines", "n": 5} },
	func(s string) any {
		return map[string]any{"big": strings.Repeat("plain text goes on. ", 500) + "\n" + s + "\n"}
	},
	func(s string) any {
		return map[string]any{"wrapped": base64.StdEncoding.EncodeToString([]byte("export X; password=" + s))}
	},
}

// TestSecretsLeaveNoTrace plants secrets in more than two hundred shapes, in every field of a capture, in queries and
// in transcripts, and looks for them in each reply, each log line and each file.
func TestSecretsLeaveNoTrace(t *testing.T) {
	d := start(t, nil)
	var cores []string
	var seen strings.Builder // replies
	send := func(request map[string]any) {
		b, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		seen.WriteString(d.exchange(true, encodeFrame(t, string(b))))
	}
	n := 1000
	for _, p := range planted {
		for _, place := range placements {
			n++
			num := fmt.Sprint(n)
			cores = append(cores, fmt.Sprintf(p.core, num))
			tool := []string{"Read", "Write", "Edit", "Bash", "Grep", "Notification", "Other"}[n%7]
			send(map[string]any{"kind": "capture", "sessionId": "s", "tool": tool, "payload": place(fmt.Sprintf(p.text, num))})
		}
		n++
		secret := fmt.Sprintf(p.text, fmt.Sprint(n))
		cores = append(cores, fmt.Sprintf(p.core, fmt.Sprint(n)))
		send(map[string]any{"kind": "capture", "sessionId": "x " + secret, "tool": "x " + secret, "source": "x " + secret, "payload": n})
		send(map[string]any{"kind": "search", "query": secret})
		send(map[string]any{"kind": "x " + secret})
		send(map[string]any{"kind": "backfill", "source": "x " + secret})
		send(map[string]any{"kind": "capture", "sessionId": "s", "tool": "T", "payload": secret, "ts": secret})
	}
	dir := d.project(strings.ReplaceAll(d.top(), "/", "-"))
	secret := func(n int) string { return fmt.Sprintf("password=Zq%dhunter", n) }
	writeFile(t, filepath.Join(dir, "s.jsonl"),
		useLine("1", "Bash", `{"command":"`+secret(1)+`"}`, 1)+resultLine("1", `"`+secret(2)+`"`)+"{"+secret(3)+"\n", time.Now())
	cores = append(cores, "Zq1hunter", "Zq2hunter", "Zq3hunter")
	send(map[string]any{"kind": "backfill"})
	send(map[string]any{"kind": "summaries", "limit": 1000})
	send(map[string]any{"kind": "status"})
	if len(cores) < 200 {
		t.Fatal(len(cores))
	}
	if err := d.Close(); err != nil { // after it, nothing is logged or written, and no index file is removed
		t.Fatal(err)
	}
	d.store.index.Close()
	places := map[string]string{"a reply": seen.String(), "the log": d.log.String()}
	for _, root := range []string{d.store.dir, d.cfg.Home} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			places[path] = string(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	var events strings.Builder // before compression
	unzip, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unzip.Close()
	d.store.state.Read(func(v *state.View) error {
		v.Events(1, 1, func(e *oplog.StoredEvent) bool {
			p := e.Payload
			if e.Packed {
				if p, err = unzip.DecodeAll(p, nil); err != nil {
					t.Fatal(err)
				}
			}
			if !json.Valid(p) {
				t.Fatalf("event %d holds no JSON: %.100q", e.ID, p)
			}
			fmt.Fprintf(&events, "%s %s %s %s\n", e.Session, e.Tool, e.Source, p)
			return true
		})
		return nil
	})
	places["an event"] = events.String()
	if strings.Count(events.String(), "[REDACTED") < 200 {
		t.Error("the events were not stored")
	}
	for where, text := range places {
		lower := strings.ToLower(text)
		for _, core := range cores {
			if i := strings.Index(lower, strings.ToLower(core)); i >= 0 {
				t.Errorf("%s holds %q: …%q…", where, core, text[max(0, i-60):min(len(text), i+60)])
			}
		}
	}
}
