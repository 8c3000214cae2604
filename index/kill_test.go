package index_test

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/oplog/suite"
)

const killedHome = "CAIRN_TEST_KILLED_HOME"

// TestMain runs the tests, or, if the environment names a home, the process that a test kills.
func TestMain(m *testing.M) {
	if home := os.Getenv(killedHome); home != "" {
		if err := writeUntilKilled(home); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeUntilKilled continues where the last run was killed, and prints the number of the record that the index has
// added.
func writeUntilKilled(home string) error {
	raw, err := os.ReadFile(filepath.Join(home, "seed"))
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(string(raw))
	if err != nil {
		return err
	}
	records := history(fatal{}, n).records
	s, err := statetest.Open(filepath.Join(home, "state"), state.Options{NoSync: true}, statetest.NewLog(records...))
	if err != nil {
		return err
	}
	x, _, err := index.Open(context.Background(), index.Config{Dir: filepath.Join(home, "index"), State: s.State})
	if err != nil {
		return err
	}
	at, _ := s.Applied()
	records = records[at:]
	for i, r := range records {
		if i%20 == 0 { // there is no log from which unflushed records come back
			if err := s.Flush(); err != nil {
				return err
			}
		}
		if i == 20 { // there is something to keep by now
			fmt.Println("ready")
		}
		out, err := s.Apply([]oplog.Record{r})
		if err != nil {
			return err
		}
		if err := x.Follow(context.Background(), out); err != nil {
			return err
		}
	}
	if len(records) <= 20 {
		fmt.Println("ready")
	}
	fmt.Println("done")
	select {}
}

// fatal ends the process where a test would fail.
type fatal struct{ testing.TB }

func (fatal) Helper() {}

func (fatal) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// TestKilled: after a process is killed while it indexes, the next one answers as if nothing had happened, without
// reading the whole state. CAIRN_KILLS sets the number of kills.
func TestKilled(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const records = 4000
	kills := 8
	if testing.Short() {
		kills = 3
	}
	if n, err := strconv.Atoi(os.Getenv("CAIRN_KILLS")); err == nil {
		kills = n
	}
	rng := rand.New(rand.NewPCG(11, 12))
	home := t.TempDir()
	must(t, os.WriteFile(filepath.Join(home, "seed"), []byte(strconv.Itoa(records)), 0o600))
	for kill := range kills {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), killedHome+"="+home)
		out, err := cmd.StdoutPipe()
		must(t, err)
		must(t, cmd.Start())
		lines := bufio.NewScanner(out)
		if !lines.Scan() || !strings.HasPrefix(lines.Text(), "ready") {
			t.Fatalf("the process says %q", lines.Text())
		}
		timer := time.AfterFunc(time.Duration(rng.IntN(700))*time.Millisecond, func() { cmd.Process.Kill() })
		if lines.Scan() { // done before the kill
			timer.Stop()
			cmd.Process.Kill()
		}
		cmd.Wait() // killed: its error says only that

		r := &replica{t: t, home: home}
		if r.state, err = statetest.Open(filepath.Join(home, "state"), state.Options{NoSync: true},
			statetest.NewLog(history(t, records).records...)); err != nil {
			t.Fatal(err)
		}
		logged := openings{attrs: map[string]int64{}}
		if r.index, _, err = index.Open(t.Context(), index.Config{Dir: r.dir(), State: r.state.State, Logger: slog.New(logged)}); err != nil {
			t.Fatal(err)
		}
		if _, ok := logged.attrs["read"]; kill > 0 && !ok {
			t.Errorf("kill %d: all of the state was read again: %v", kill, logged.attrs)
		}
		at, _ := r.state.Applied()
		if kill == kills-1 || kill%4 == 3 {
			want := openReplica(t)
			want.apply(history(t, records).records[:at], 500)
			qs := questions()[:40]
			sameAnswers(t, fmt.Sprintf("kill %d at record %d", kill, at), qs, r.answers(qs), want.answers(qs))
		}
		r.index.Close()
		r.state.Close()
	}
}
