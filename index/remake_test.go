package index_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestRemadeFilesHoldNothingPurged: once Remake has returned, no file of the index contains a purged word. Entries
// followed meanwhile are found, and nothing else changes.
func TestRemadeFilesHoldNothingPurged(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	next := story(l, 1, 600)
	for range 300 {
		next()
	}
	for i := range 20 {
		m := remember(fmt.Sprint("gone", i), fmt.Sprintf("quixotelyn garden river %d", i))
		m.Namespace, m.Session, m.Speaker = "gone", "said", "Quixotelyn"
		l.add(1, m)
	}
	r.apply(l.records, 100)
	r.settle()
	r.reopen() // writes a checkpoint
	if len(holding(t, r.dir())) == 0 {
		t.Fatal("no file has the word: what is looked for was not written")
	}
	done := len(l.records)
	l.add(1, &oplog.Purge{Before: oplog.At(now) + 1, Namespace: "gone", At: oplog.At(now) + 1})
	r.apply(l.records[done:], 1)
	if len(r.found("quixotelyn")) != 0 {
		t.Fatal("what was purged is found")
	}
	done = len(l.records)
	for range 300 {
		next()
	}
	var following sync.WaitGroup
	following.Go(func() { r.apply(l.records[done:], 3) })
	must(t, r.index.Remake(t.Context(), []oplog.DB{1}))
	index.Checkpointed(r.index)
	if found := holding(t, r.dir()); len(found) != 0 {
		t.Errorf("after Remake the word is in %v", found)
	}
	following.Wait()
	whole, qs := openReplica(t), questions()[:40]
	whole.apply(l.records, 100)
	want := whole.answers(qs)
	sameAnswers(t, "remade", qs, r.answers(qs), want)
	r.reopen()
	sameAnswers(t, "remade, and a restart", qs, r.answers(qs), want)
	r.closeAll()
	sameAnswers(t, "remade and closed", qs, r.answers(qs), want)
	r.closeAll()
	must(t, r.index.Remake(t.Context(), []oplog.DB{1}))
	sameAnswers(t, "remade while it was closed", qs, r.answers(qs), want)
}

// holding returns the names of the files that contain a word.
func holding(t *testing.T, dir string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // gone meanwhile
		}
		if raw, err := os.ReadFile(path); err == nil && bytes.Contains(bytes.ToLower(raw), []byte("quixotelyn")) {
			found = append(found, path)
		}
		return nil
	})
	must(t, err)
	return found
}
