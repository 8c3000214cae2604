package home

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// ignoringMachine is a state machine that ignores its records, so that the log commits records that no state can
// apply.
type ignoringMachine struct {
	raft.Handler
	raft.StateMachine
	index, term uint64
}

func (d ignoringMachine) Apply(batch []raft.Record) []any { return make([]any, len(batch)) }
func (d ignoringMachine) Applied() (index, term uint64)   { return d.index, d.term }
func (ignoringMachine) RetainSnapshots([]string) error    { return nil }

// propose appends a record to the log of a stopped node. Its state does not see the record.
func propose(t *testing.T, cfg Config, data []byte) oplog.Index {
	t.Helper()
	f, err := Check(cfg, false)
	must(t, err)
	sm := ignoringMachine{index: uint64(f.State.Index), term: uint64(f.State.Term)}
	n, err := raft.Open(context.Background(), raft.Config{NodeID: 1, Dir: filepath.Join(cfg.Dir, "raft"), Alone: true, Handler: sm,
		Timing: raft.Timing{Heartbeat: 20 * time.Millisecond, Election: 40 * time.Millisecond}}, sm)
	must(t, err)
	defer n.Close()
	for {
		changed := n.Changed()
		if n.IsLeader() {
			break
		}
		<-changed
	}
	at, _, err := n.Propose(t.Context(), data).Wait()
	must(t, err)
	return oplog.Index(at)
}

// proposeGood appends a valid memory to the log of a stopped node.
func proposeGood(t *testing.T, cfg Config) oplog.Index {
	t.Helper()
	body, err := oplog.Entry{Node: 1, DB: oplog.DefaultDB,
		Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "good", Text: planted,
			Namespace: "default", Created: 1}}}}.Encode()
	must(t, err)
	return propose(t, cfg, oplog.EncodeRecord(oplog.MakeHLC(1000, 0, 1), body))
}

// TestOnlyWhatStopsANodeIsSkipped checks that a record that the state cannot apply is found by its index and skipped
// at the next start, and that records that can be applied, or were, are not.
func TestOnlyWhatStopsANodeIsSkipped(t *testing.T) {
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	good := proposeGood(t, cfg)
	poison := []byte("not what any version wrote, and long enough to have a time")
	bad := propose(t, cfg, poison)
	if _, err := FindUnapplied(cfg, 100); err == nil {
		t.Error("a record that was applied is to be skipped")
	}
	if _, err := FindUnapplied(cfg, good); !errors.Is(err, ErrApplies) {
		t.Errorf("a good record: %v", err)
	}
	u, err := FindUnapplied(cfg, bad)
	if err != nil || u.Digest != oplog.DigestOf(poison) || u.Bytes != len(poison) || !errors.Is(u.Fault, oplog.ErrRecord) {
		t.Fatalf("%+v, %v", u, err)
	}
	if skip, err := Skipped(cfg.Dir); err != nil || len(skip) != 0 {
		t.Errorf("looking skips %v, %v", skip, err)
	}
	long := u
	long.Index, long.Fault = bad+1, errors.New(strings.Repeat("a fault that says much ", 4<<10))
	must(t, SkipRecord(cfg, long))
	if skip, err := Skipped(cfg.Dir); err != nil || len(skip) != 1 || skip[long.Index] != u.Digest {
		t.Errorf("with a long reason: %d, %v", len(skip), err)
	}
	must(t, os.Remove(filepath.Join(cfg.Dir, skipFile)))
	must(t, SkipRecord(cfg, u))
	if skip, err := Skipped(cfg.Dir); err != nil || len(skip) != 1 || skip[bad] != u.Digest {
		t.Errorf("skipped: %v, %v", skip, err)
	}
	if _, err := FindUnapplied(cfg, bad); !errors.Is(err, ErrApplies) {
		t.Errorf("after it was skipped: %v", err)
	}
	for _, line := range []string{"no JSON", `{"index":0,"sha256":"` + u.Digest.String() + `"}`, `{"index":7,"sha256":"ab"}`} {
		dir := t.TempDir()
		must(t, os.WriteFile(filepath.Join(dir, skipFile), []byte(line+"\n"), 0o600))
		if _, err := Skipped(dir); err == nil {
			t.Errorf("%s: a line that names no record is passed over", line)
		}
	}
}

// TestASkipThatWasCutShort checks that an incomplete line in the file names no record, and prevents neither a start
// nor another skip.
func TestASkipThatWasCutShort(t *testing.T) {
	t.Parallel()
	cfg := fill(t, soleNodeConfig(t))
	u := Unapplied{Index: 500, Digest: oplog.DigestOf([]byte("poison")), Fault: errors.New("a fault")}
	must(t, SkipRecord(cfg, u))
	path := filepath.Join(cfg.Dir, skipFile)
	line, err := os.ReadFile(path)
	must(t, err)
	for cut := range len(line) {
		must(t, os.WriteFile(path, append(bytes.Clone(line), line[:cut]...), 0o600))
		if skip, err := Skipped(cfg.Dir); err != nil || len(skip) != 1 {
			t.Fatalf("cut after %d bytes: %v, %v", cut, skip, err)
		}
	}
	u.Index++
	must(t, SkipRecord(cfg, u))
	if skip, err := Skipped(cfg.Dir); err != nil || len(skip) != 2 || skip[501] != u.Digest {
		t.Errorf("skipped again: %v, %v", skip, err)
	}
}
