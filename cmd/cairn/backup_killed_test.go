package main

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/transfer"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestOneBackupWritesADirectory checks that a second `cairn backup` into a directory fails while a first one
// downloads, and does not disturb it. After the first is killed, the next `cairn backup` succeeds.
func TestOneBackupWritesADirectory(t *testing.T) {
	t.Parallel()
	p, home := cairntest.StartDev(t)
	backend, err := url.Parse(p.Line.HTTP)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(backend)
	var hold atomic.Bool
	downloads, release := make(chan struct{}), make(chan struct{})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && hold.Swap(false) {
			downloads <- struct{}{}
			<-release
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	goOn := sync.OnceFunc(func() { close(release) })
	defer goOn()
	backups := filepath.Join(t.TempDir(), "b")
	slow := func() (wait func() (string, error), kill func()) {
		hold.Store(true)
		c := cairntest.Command(t.Context(), "backup", "--to", backups, "--endpoints", front.URL, "--home", home)
		var output bytes.Buffer
		c.Stdout, c.Stderr = &output, &output
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		<-downloads
		return func() (string, error) { err := c.Wait(); return output.String(), err }, func() { c.Process.Kill() }
	}
	second := func() (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		out, err := cairntest.Command(ctx, "backup", "--to", backups, "--home", home).CombinedOutput()
		return string(out), err
	}
	_, kill := slow()
	if out, err := second(); err == nil || !strings.Contains(out, "another `cairn backup` writes to "+backups) {
		t.Errorf("a second backup during the first: %v, %s", err, out)
	}
	kill()
	suite.Eventually(t, "a backup after the killed one", func() bool {
		out, err := second()
		if err != nil && !strings.Contains(out, "another") {
			t.Fatalf("%v, %s", err, out)
		}
		return err == nil
	})
	if _, code := cairntest.Run(t, "remember", "Alice leads payments", "--home", home); code != 0 {
		t.Fatal("not remembered")
	}
	wait, _ := slow()
	goOn()
	if out, err := wait(); err != nil {
		t.Errorf("the first backup: %v, %s", err, out)
	}
	jsonOf[restored](t, "backup", "verify", backups)
	spool, err := os.ReadDir(filepath.Join(home, "backup-spool"))
	if left, _ := filepath.Glob(filepath.Join(backups, ".down*")); err != nil || len(spool)+len(left) > 0 {
		t.Errorf("%v and %v are left, %v", spool, left, err)
	}
}

// TestKilledScratchesAreRemoved checks that `cairn restore --database` and `cairn backup verify` remove the temporary
// directories of killed runs once these are a day old.
func TestKilledScratchesAreRemoved(t *testing.T) {
	t.Parallel()
	_, home := cairntest.StartDev(t)
	backups, temp := filepath.Join(t.TempDir(), "b"), t.TempDir()
	jsonOf[transfer.BackupDone](t, "backup", "--to", backups, "--home", home)
	for _, args := range [][]string{
		{"restore", "--from", backups, "--database", "default", "--into", "again", "--home", home}, {"backup", "verify", backups}} {
		for _, left := range []string{".cairn-restore-1.scratch", ".cairn-restore-2.scratch", ".cairn-verify-1.scratch", "cairn-restore-another"} {
			if err := os.MkdirAll(filepath.Join(temp, left, "home"), 0o700); err != nil {
				t.Fatal(err)
			}
			if left == ".cairn-restore-2.scratch" { // too new: its process may still run
				continue
			}
			then := time.Now().Add(-25 * time.Hour)
			if err := os.Chtimes(filepath.Join(temp, left), then, then); err != nil {
				t.Fatal(err)
			}
		}
		c := cairntest.Command(t.Context(), args...)
		c.Env = append(c.Env, "TMPDIR="+temp)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v, %s", err, out)
		}
		var left []string
		entries, err := os.ReadDir(temp)
		for _, e := range entries {
			left = append(left, e.Name())
		}
		if got := strings.Join(left, " "); err != nil || got != ".cairn-restore-2.scratch cairn-restore-another" {
			t.Errorf("after cairn %s there is %s, %v", args[0], got, err)
		}
	}
}
