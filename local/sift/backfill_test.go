package sift

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/suite"
)

// project creates the transcript directory of a workspace under one spelling of its path.
func (d *daemon) project(encoded string) string {
	d.t.Helper()
	dir := filepath.Join(d.cfg.Transcripts, encoded)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		d.t.Fatal(err)
	}
	return dir
}

func (d *daemon) top() string {
	for _, w := range d.servedWorkspaces() {
		return w.Top
	}
	return ""
}

func useLine(id, name, input string, at int) string {
	return fmt.Sprintf(`{"type":"assistant","timestamp":%q,"uuid":"u","message":{"role":"assistant","content":[{"type":"text","text":"let me see"},{"type":"tool_use","id":%q,"name":%q,"input":%s}]}}`,
		time.UnixMilli(1_700_000_000_000+int64(at)*1000).UTC().Format(time.RFC3339Nano), id, name, input) + "\n"
}

func resultLine(id, content string) string {
	return fmt.Sprintf(`{"type":"user","timestamp":"2024-01-01T00:00:00Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%s}]}}`,
		id, content) + "\n"
}

func writeFile(t testing.TB, path, text string, at time.Time) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func tally(m map[string]any) string {
	return fmt.Sprintf("scanned=%v captured=%v skipped=%v duplicate=%v broken=%v errors=%v", m["scanned"], m["captured"],
		m["skipped"], m["skippedDuplicate"], m["broken"], m["errors"])
}

func TestBackfill(t *testing.T) {
	suite.Full(t)
	d := start(t, nil)
	if got := tally(d.ask(`{"kind":"backfill"}`)); got != "scanned=0 captured=0 skipped=0 duplicate=0 broken=0 errors=0" {
		t.Errorf("no transcripts: %s", got)
	}
	dir := d.project(strings.ReplaceAll(d.top(), "/", "-"))
	var s strings.Builder
	s.WriteString(`{"type":"summary","summary":"x"}` + "\n")
	s.WriteString(useLine("1", "Read", `{"file_path":"a.go"}`, 1) + resultLine("1", `"func A() password=hunter2"`))
	s.WriteString(useLine("2", "Bash", `{"command":"make"}`, 2) + useLine("3", "Grep", `{"pattern":"x"}`, 3))
	s.WriteString("{torn\n\n")
	s.WriteString(resultLine("3",
		`[{"type":"text","text":"found"},{"type":"image","source":{"type":"base64","data":"AAAA"}}]`) + resultLine("2", `null`))
	s.WriteString(useLine("4", "WebFetch", `{}`, 4) + resultLine("4", `"not taken"`)) // a tool that is not replayed
	s.WriteString(resultLine("5", `"no use"`))                                        // a result without a use
	s.WriteString(strings.Replace(useLine("6", "Read", `{}`, 6), `"timestamp":"2`, `"timestamp":"x2`, 1) + resultLine("6", `"no time"`))
	s.WriteString(useLine("7", "Read", `{"file_path":"a.go"}`, 7) + resultLine("7", `"func A() password=other"`)) // the same content as the first
	s.WriteString(strings.Repeat("x", maxLine+10) + "\n")
	s.WriteString(useLine("8", "Glob", `{"pattern":"*"}`, 8) + strings.TrimSuffix(resultLine("8", `"last, without an end"`), "\n"))
	now := time.Now()
	writeFile(t, filepath.Join(dir, "one.jsonl"), s.String(), now)
	writeFile(t, filepath.Join(dir, "old.jsonl"), useLine("1", "Read", `{"file_path":"old.go"}`, 0)+resultLine("1", `"x"`),
		now.Add(-time.Hour))
	writeFile(t, filepath.Join(dir, "notes.txt"), "no transcript", now)
	os.Symlink("/etc/passwd", filepath.Join(dir, "link.jsonl"))
	syscall.Mkfifo(filepath.Join(dir, "pipe.jsonl"), 0o600)
	os.Mkdir(filepath.Join(dir, "agents.jsonl"), 0o700)

	if got := tally(d.ask(`{"kind":"backfill","limit":0}`)); !strings.HasPrefix(got, "scanned=0 captured=0") {
		t.Errorf("limit 0: %s", got)
	}
	if got := tally(d.ask(`{"kind":"backfill","perTranscriptLimit":-1}`)); !strings.HasPrefix(got, "scanned=2 captured=0") {
		t.Errorf("per transcript -1: %s", got)
	}
	if got := tally(d.ask(`{"kind":"backfill","limit":1,"perTranscriptLimit":2}`)); got != "scanned=1 captured=2 skipped=0 duplicate=0 broken=1 errors=0" {
		t.Errorf("the newest, two of it: %s", got)
	}
	if got := tally(d.ask(`{"kind":"backfill","source":"transcripts"}`)); got != "scanned=2 captured=3 skipped=3 duplicate=3 broken=2 errors=1" {
		t.Errorf("the rest: %s", got)
	}
	if got := tally(d.ask(`{"kind":"backfill"}`)); got != "scanned=2 captured=0 skipped=6 duplicate=6 broken=2 errors=1" {
		t.Errorf("again: %s", got)
	}
	d.store.state.Read(func(v *state.View) error {
		e, _ := v.Event(1, 1)
		if e.Session != "one" || e.At != 1_700_000_001_000_000 || e.Source != "replay" || strings.Contains(string(e.Payload), "hunter2") {
			t.Errorf("%+v %s", e, e.Payload)
		}
		return nil
	})
	// A live capture of the same content is the same event.
	if r := d.ask(`{"kind":"capture","sessionId":"one","tool":"Bash","payload":{"tool_response":null,"tool_input":{"command":"make"}}}`); r["duplicate"] != true {
		t.Error(r)
	}
	if got := d.ask(`{"kind":"backfill_run"}`); got["running"] != nil || got["files"] != 2.0 {
		t.Error(got)
	}
}

// TestTranscriptDirectories finds transcripts under each spelling of the workspace's path, and those of all
// workspaces if requested.
func TestTranscriptDirectories(t *testing.T) {
	root := t.TempDir()
	w := Workspace{Dir: "/w/my.app_x", Top: "/w"}
	want := map[string]bool{"-w-my.app_x": true, "-w-my-app_x": true, "-w-my-app-x": true, "-w": true, "-other": false}
	for d := range want {
		os.Mkdir(filepath.Join(root, d), 0o700)
		writeFile(t, filepath.Join(root, d, "s.jsonl"), "", time.Now())
	}
	own, all := sessionFiles{}, sessionFiles{}
	own.transcripts(root, w, true)
	got := own.newest()
	if len(got) != 4 || strings.Contains(strings.Join(got, " "), "-other") {
		t.Errorf("own: %v", got)
	}
	if all.transcripts(root, w, false); len(all) != 5 {
		t.Errorf("all: %v", all)
	}
}

// TestBackfillGoesOn interrupts a backfill by a loss of quorum, and runs it again.
func TestBackfillGoesOn(t *testing.T) {
	d := start(t, nil)
	dir := d.project(strings.ReplaceAll(d.top(), "/", "-"))
	var s strings.Builder
	const n = 1000
	for i := range n {
		id := fmt.Sprint(i)
		s.WriteString(useLine(id, "Bash", fmt.Sprintf(`{"command":"step %d"}`, i), i) + resultLine(id, `"ok"`))
	}
	writeFile(t, filepath.Join(dir, "s.jsonl"), s.String(), time.Now())
	out := d.store.cut()
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := Call(ctx, d.socket, json.RawMessage(`{"kind":"backfill"}`))
		gone <- err
	}()
	<-out.waits
	if now := d.ask(`{"kind":"backfill_run"}`); now["running"] != true {
		t.Errorf("while it waits: %v", now)
	}
	cancel() // its client disconnects
	if err := <-gone; err == nil {
		t.Fatal("it was answered without a quorum")
	}
	d.store.mend()
	suite.Eventually(t, "it goes on without its client", func() bool {
		now := d.ask(`{"kind":"backfill_run"}`)
		return now["captured"] == float64(n) && now["running"] == nil
	})
	if got := tally(d.ask(`{"kind":"backfill"}`)); got != "scanned=1 captured=0 skipped=1000 duplicate=1000 broken=0 errors=0" {
		t.Error(got)
	}
	last := oplog.Time(0)
	d.store.state.Read(func(v *state.View) error {
		v.Events(1, 1, func(e *oplog.StoredEvent) bool {
			if e.At < last {
				t.Errorf("event %d is earlier than the one before it", e.ID)
			}
			last = e.At
			return true
		})
		return nil
	})
	if !strings.Contains(d.log.String(), "backfill done") {
		t.Error("the log says nothing of it")
	}
}

func TestImportHome(t *testing.T) {
	d := start(t, nil)
	home := t.TempDir()
	ws := filepath.Join(home, "default", "workspaces", keyOf(d))
	if err := os.MkdirAll(ws, 0o700); err != nil {
		t.Fatal(err)
	}
	wal := `{"ts":1000,"sessionId":"a","tool":"Bash","inputHash":"00","payload":{"tool_input":{"command":"ls"},"tool_response":"x password=hunter2","_source":"claude-code"}}
{"ts":2000,"sessionId":"a","tool":"Odd","payload":{"value":5,"_source":"cli"}}
not json
{"ts":3000,"sessionId":"","tool":"Odd","payload":1}
{"ts":4000,"sessionId":"a","tool":"Bash","payload":{"tool_input":{"command":"torn`
	if err := os.WriteFile(filepath.Join(ws, "wal.ndjson"), []byte(wal), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"scanned=1 captured=2 skipped=0 duplicate=0 broken=3 errors=0",
		"scanned=1 captured=0 skipped=2 duplicate=2 broken=3 errors=0"} {
		if got := tally(d.ask(fmt.Sprintf(`{"kind":"import_home","home":%q}`, home))); got != want {
			t.Errorf("time %d: %s", i+1, got)
		}
	}
	if r := d.ask(`{"kind":"capture","sessionId":"a","tool":"Odd","payload":5}`); r["duplicate"] != true {
		t.Error(r)
	}
	if got := d.refused(`{"kind":"import_home","home":"/no/such"}`); got != "import_home: default/workspaces/"+keyOf(d)+"/wal.ndjson: no such file or directory" {
		t.Error(got)
	}
}
