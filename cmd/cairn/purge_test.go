package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/cmd/cairn/transfer"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot/snapshottest"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/store/storetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire/field"
)

// purgedWord occurs in a purged text. The extractor recognizes it as the name of an entity.
const purgedWord = "quixotelyn"

// findMarked returns the files under a directory that contain purgedWord in any case. Snapshots and ranges of the log
// are compressed, so it restores a snapshot and searches the resulting files, and searches the entries and rows of a
// range.
func findMarked(t *testing.T, dir string) (found []string) {
	t.Helper()
	storetest.Files(t, dir, func(path string, held []byte) {
		holds := bytes.Contains(bytes.ToLower(held), []byte(purgedWord))
		if strings.HasPrefix(filepath.Base(path), "log-") {
			holds = bytes.Contains(bytes.ToLower(snapshottest.Range(t, bytes.NewReader(held))), []byte(purgedWord))
		} else if strings.HasSuffix(path, ".snap") || strings.HasSuffix(path, ".cairn") {
			holds = holds || len(findMarked(t, unpacked(t, path))) > 0
		}
		if holds {
			found = append(found, path)
		}
	})
	return found
}

// unpacked restores the state from a snapshot and returns its directory. A file of Raft has the snapshot's
// description after the state.
func unpacked(t *testing.T, path string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	size := info.Size()
	if strings.HasSuffix(path, ".snap") {
		end := make([]byte, 8)
		if _, err := f.ReadAt(end, size-8); err != nil {
			t.Fatal(err)
		}
		size -= 8 + int64(binary.BigEndian.Uint32(end))
		if size == 0 { // the state is in a checkpoint, whose files are searched directly
			return dir
		}
	}
	st, err := state.Open(dir, state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(st.Restore(io.LimitReader(f, size), nil), st.Close()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestNoByteSurvivesAPurge checks that a purged text, which all files had before, soon is in no file of three running
// members, in no file of a member that joins later with an empty home, and in no new backup.
func TestNoByteSurvivesAPurge(t *testing.T) { noByteSurvives(t, false) }

// TestForgottenForGood checks the same for memories that are forgotten for good, through a follower. They cannot be
// read by id, a node proves that they were erased without revealing their text, and a new memory with the same text
// is rejected, although no file has the text.
func TestForgottenForGood(t *testing.T) { noByteSurvives(t, true) }

func noByteSurvives(t *testing.T, forGood bool) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "reads files of stopped nodes")
	dir := t.TempDir()
	nodes, token := startThreeIn(t, dir, func(*config.NodeFile) {}, 0, 1, 2)
	l := leaderOf(t, nodes)
	at := func(verb string, rest ...string) string {
		t.Helper()
		out, code := cairntest.Run(t, append([]string{verb, "--endpoints", nodes[l].Line.Wire, "--token", token}, rest...)...)
		if code != 0 {
			t.Fatalf("%s: exit %d, %s", verb, code, out)
		}
		return out
	}
	const marked = "Quixotelyn Vandermarck works at Zorblax Industries in Lisbon, said Quixotelyn"
	for range 5 {
		at("remember", marked)
	}
	at("put", "/people/Quixotelyn", "she rows")
	at("rename", "/people/Quixotelyn", "/rowers/Quixotelyn")
	kept := strings.TrimSpace(at("remember", "the locker of Quixotelyn is 12", "--namespace", "lockers"))
	at("correct", kept, "the locker is free", "--reason", "moved out")
	sameState(t, nodes)
	for _, p := range nodes { // a node writes its memory tables when it stops
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range nodes {
		found := strings.Join(findMarked(t, p.Line.Home), "\n")
		for _, part := range []string{"/state/", "/raft/log/"} {
			if !strings.Contains(found, p.Line.Home+part) {
				t.Fatalf("before the purge the word is in\n%s\nand in no file of %s: what is looked for was not written", found, part)
			}
		}
	}
	var up []func()
	for _, p := range nodes {
		up = append(up, p.Launch())
	}
	for _, up := range up {
		up()
	}
	l = leaderOf(t, nodes)
	sameState(t, nodes)
	call := func(method, path, body string) map[string]any {
		t.Helper()
		q, err := http.NewRequestWithContext(t.Context(), method, nodes[l].Line.HTTP+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("Authorization", "Bearer "+token)
		q.Header.Set("Content-Type", "application/json")
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		var v map[string]any
		if err := json.NewDecoder(r.Body).Decode(&v); err != nil || r.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v, %v", path, r.StatusCode, v, err)
		}
		return v
	}
	chain := filepath.Join(dir, "chain")
	backup := func(to string) transfer.BackupDone {
		t.Helper()
		return jsonOf[transfer.BackupDone](t, "backup", "--endpoints", nodes[l].Line.HTTP, "--token", token, "--to", to)
	}
	if b := backup(chain); len(findMarked(t, chain)) != 1 {
		t.Errorf("the backup before the purge does not hold it: %+v", b)
	}
	var v map[string]any
	if forGood {
		l = (l + 1) % 3 // a follower forwards it
		at("forget", kept, "--for-good", "--revisions", "0", "--yes")
		v = eraseAll(t, call)
		for _, text := range []string{marked, strings.ToUpper(marked)} {
			if out, code := cairntest.Run(t, "remember", text, "--endpoints", nodes[l].Line.Wire, "--token", token); code == 0 {
				t.Errorf("a text that was erased is stored again: %s", out)
			}
		}
	} else {
		v = call("POST", "/v1/admin/purge", `{"before":"`+time.Now().Add(time.Minute).UTC().Format(time.RFC3339)+`"}`)
		if v["purged"] != 7.0 {
			t.Errorf("the purge answers %v", v)
		}
	}
	if held, _ := v["still_held_by"].([]any); len(held) < 3 {
		t.Errorf("it answers %v", v)
	}
	at("remember", "life goes on")
	if raw, _ := json.Marshal(call("GET", "/v1/entities", "")); strings.Contains(strings.ToLower(string(raw)), purgedWord) {
		t.Errorf("entities: %s", raw)
	}
	rewritten := func(p *cairntest.Node) bool {
		return suite.Within(suite.Patience, func() bool {
			e, err := home.ReadErased(p.Line.Home)
			at, bad := field.ParseToken(v["log_index"].(string))
			return err == nil && bad == nil && e.Rewritten >= oplog.Index(at)
		})
	}
	for _, p := range nodes {
		if !rewritten(p) {
			t.Fatalf("%s: its files are not written anew", p.Line.Home)
		}
		if found := findMarked(t, p.Line.Home); len(found) != 0 {
			t.Errorf("a running member holds it in %v", found)
		}
	}
	if out, _ := cairntest.Run(t, "status", "--endpoints", nodes[l].Line.HTTP, "--token", token); strings.Contains(out, "purged text") {
		t.Errorf("status still says that files hold it: %s", out)
	}
	fresh := nodes[(l+1)%3]
	fresh.Kill()
	if err := os.RemoveAll(fresh.Line.Home); err != nil {
		t.Fatal(err)
	}
	fresh.Launch()()
	sameState(t, nodes)
	if found := findMarked(t, fresh.Line.Home); len(found) != 0 {
		t.Errorf("a member that joined after the purge holds it in %v", found)
	}
	backups := filepath.Join(dir, "backups")
	backup(backups)
	if found := findMarked(t, backups); len(found) != 0 {
		t.Errorf("a new backup holds it: %v", found)
	}
	if b := backup(chain); b.Since == 0 || len(findMarked(t, chain)) != 1 {
		t.Errorf("the backup behind the one from before the purge holds it, or is a whole state: %+v", b)
	}
	for _, p := range nodes { // a member writes its memory tables when it stops
		if err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		p.Launch()()
	}
	sameState(t, nodes)
	for _, p := range nodes {
		if found := findMarked(t, p.Line.Home); len(found) != 0 {
			t.Errorf("after a restart it is in %v", found)
		}
	}
	l = leaderOf(t, nodes)
	if out := at("recall", "life"); !strings.Contains(out, "life goes on") {
		t.Errorf("what was not purged: %s", out)
	}
	if out := at("recall", "locker", "--namespace", "lockers"); strings.Contains(out, "the locker is free") != forGood {
		t.Errorf("the memory of which an earlier text alone was erased: %s", out)
	}
}

// eraseAll forgets all memories for good, and checks the remains of the first.
func eraseAll(t *testing.T, call func(method, path, body string) map[string]any) map[string]any {
	t.Helper()
	request := map[string]any{"filter": map[string]any{"@namespace": "default", "@created_at": map[string]any{"gt": "2020-01-01"}}}
	ask := func() map[string]any {
		body, err := json.Marshal(request)
		if err != nil {
			t.Fatal(err)
		}
		return call("POST", "/v1/erase", string(body))
	}
	shown := ask()
	memories, _ := shown["memories"].([]any)
	if request["confirm"] = shown["confirm"]; len(memories) != 6 || shown["erased"] != false {
		t.Fatalf("it shows %v", shown)
	}
	done := ask()
	if done["erased"] != true || strings.Contains(strings.ToLower(fmt.Sprint(done)), purgedWord) {
		t.Fatalf("it answers %v", done)
	}
	rid := memories[0].(map[string]any)["rid"].(string)
	proof := call("GET", "/v1/erased/"+rid+"?min_index="+done["log_index"].(string), "")
	statement, err := json.Marshal(proof["statement"])
	if err != nil || strings.Contains(strings.ToLower(string(statement)), purgedWord) || proof["statement"].(map[string]any)["rid"] != rid {
		t.Errorf("the proof is %s (%v)", statement, err)
	}
	return done
}
