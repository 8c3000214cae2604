package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/transfer"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAKilledRestoreIsNoEmptyHome kills `cairn restore` at random moments. A partly restored home must either start
// with all data of the backup, or not start and name the command that continues.
func TestAKilledRestoreIsNoEmptyHome(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "many commands, each a process")
	p, home := cairntest.StartDev(t)
	backups := filepath.Join(t.TempDir(), "backups")
	var rows bytes.Buffer
	for i := range 3000 {
		fmt.Fprintf(&rows, `{"text":"memory %d of %s"}`+"\n", i, strings.Repeat("many words ", 20))
	}
	in := cairntest.Command(t.Context(), "import", "--home", home)
	in.Stdin = &rows
	if out, err := in.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", home)
	p.Kill()
	start := time.Now()
	jsonOf[restored](t, "restore", "--from", backups, "--home", filepath.Join(t.TempDir(), "whole"))
	took := time.Since(start)
	cut := 0
	for n := 0; n < 6 || cut == 0 && n < 60; n++ {
		into := filepath.Join(t.TempDir(), "into")
		c := cairntest.Command(t.Context(), "restore", "--from", backups, "--home", into)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(took), func() { c.Process.Kill() })
		ended := c.Wait()
		kill.Stop()
		entries, _ := os.ReadDir(into)
		if len(entries) == 0 {
			continue // the restore had not begun
		}
		q := &cairntest.Node{T: t, Args: []string{"dev", "--home", into, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
		t.Cleanup(q.Kill)
		if _, err := os.Stat(filepath.Join(into, "restoring")); err == nil {
			cut++
			q.Launch()
			q.ExpectFailure()
			if log := q.Log.String(); !strings.Contains(log, "did not end: run the same `cairn restore` again") {
				t.Errorf("a node refuses the home and says %q", log)
			}
			jsonOf[restored](t, "restore", "--from", backups, "--home", into)
		}
		q.Launch()()
		if out, code := cairntest.Run(t, "export", "--home", into); code != 0 || strings.Count(out, "of many words") < 3000 {
			t.Errorf("after a restore that ended with %v the home has %d bytes of rows, exit %d", ended, len(out), code)
		}
		q.Kill()
	}
	if cut == 0 {
		t.Error("no restore was killed while it ran")
	}
}
