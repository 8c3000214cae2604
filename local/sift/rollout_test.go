package sift

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// TestBackfillReadsRollouts: the tool calls of Codex in the workspace are captured, in the command forms of all its
// versions. Those in other directories are captured only if all are requested.
func TestBackfillReadsRollouts(t *testing.T) {
	d := start(t, nil)
	dir := filepath.Join(d.cfg.Rollouts, "2026", "11", "26")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	item := func(n int, payload string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-26T10:00:%02d.000Z","type":"response_item","payload":%s}`+"\n", n, payload)
	}
	begin := func(cwd string) string {
		return fmt.Sprintf(`{"timestamp":"2026-11-26T10:00:00.000Z","type":"session_meta","payload":{"id":"x","cwd":%q}}`+"\n", cwd)
	}
	const id = "019ac0de-1234-7abc-8def-0123456789ab"
	now := time.Now()
	writeFile(t, filepath.Join(dir, "rollout-2026-11-26T10-00-00-"+id+".jsonl"), begin(filepath.Join(d.top(), "below"))+
		item(1, `{"type":"message","role":"user","content":[]}`)+
		item(2, `{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"make deploy\"}","call_id":"a"}`)+
		item(3, `{"type":"function_call_output","call_id":"a","output":"the deploy failed: password=hunter22"}`)+
		item(4, `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"bash\",\"-lc\",\"make test\"]}","call_id":"b"}`)+
		item(5, `{"type":"function_call_output","call_id":"b","output":"{\"output\":\"all green\",\"metadata\":{\"exit_code\":0}}"}`)+
		item(6, `{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin Patch","call_id":"c"}`)+
		item(7, `{"type":"custom_tool_call_output","call_id":"c","output":"Success"}`)+
		item(8, `{"type":"local_shell_call","action":{"type":"exec","command":["ls","-l"]},"call_id":"d"}`)+
		item(9, `{"type":"function_call_output","call_id":"d","output":"Chunk ID: b8fa22\nProcess exited with code 0\nOutput:\ntotal 0"}`)+
		item(10, `{"type":"function_call","name":"update_plan","arguments":"{}","call_id":"e"}`)+
		item(11, `{"type":"function_call_output","call_id":"e","output":"not taken"}`), now)
	writeFile(t, filepath.Join(dir, "rollout-other.jsonl"), begin("/elsewhere")+
		item(1, `{"type":"function_call","name":"shell_command","arguments":"{\"command\":\"elsewhere\"}","call_id":"a"}`)+
		item(2, `{"type":"function_call_output","call_id":"a","output":"x"}`), now.Add(-time.Hour))
	writeFile(t, filepath.Join(dir, "rollout-torn.jsonl"), "{torn", now.Add(-2*time.Hour))
	if got := tally(d.ask(`{"kind":"backfill"}`)); got != "scanned=1 captured=4 skipped=0 duplicate=0 broken=0 errors=0" {
		t.Errorf("own: %s", got)
	}
	var all []string
	d.store.state.Read(func(v *state.View) error {
		for n := range 4 {
			e, _ := v.Event(1, oplog.EventID(n+1))
			all = append(all, e.Session+" "+e.Tool+" "+string(e.Payload))
		}
		return nil
	})
	for i, want := range []string{`"command":"make deploy"`, `"command":"make test"},"tool_response":"all green"`,
		"Begin Patch", `"command":"ls -l"},"tool_response":"total 0"`} {
		if !strings.Contains(all[i], want) || !strings.HasPrefix(all[i], id) || strings.Contains(all[i], "hunter22") {
			t.Errorf("event %d: %s, want %s", i+1, all[i], want)
		}
	}
	if got := tally(d.ask(`{"kind":"backfill","workspaceOnly":false}`)); got != "scanned=3 captured=1 skipped=4 duplicate=4 broken=1 errors=0" {
		t.Errorf("all: %s", got)
	}
}
