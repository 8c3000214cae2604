package standalone_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// spawnAndRead runs a script below a daemon and returns what it wrote.
func spawnAndRead(t *testing.T, socket, script string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	params, err := json.Marshal(map[string]any{"id": "x", "command": "/bin/sh",
		"args": []string{"-c", script + " >" + out + ".part; mv " + out + ".part " + out}})
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t, socket, "process.spawn", string(params)); !strings.Contains(got, `"success":true`) {
		t.Fatal(got)
	}
	var b []byte
	suite.Eventually(t, "the script's output", func() bool { b, err = os.ReadFile(out); return err == nil })
	return string(b)
}

func TestChildrenSeeNoSecretsAndNoDescriptors(t *testing.T) {
	t.Setenv("CLAUDE_RPC_TOKEN", "a secret")
	socket := daemon(t)
	env := spawnAndRead(t, socket, "env")
	for _, name := range []string{"CLAUDE_RPC_TOKEN", "CLAUSTRUM_", "a secret", token} {
		if strings.Contains(env, name) {
			t.Errorf("a child sees %s", name)
		}
	}
	if !strings.Contains(env, "CLAUDE_SSH_DAEMON_CHILD=1\n") {
		t.Error("the mark of the daemon is missing")
	}
	if fds := spawnAndRead(t, socket, "ls /proc/self/fd"); len(strings.Fields(fds)) > 4 { // 0, 1, 2 and that of ls
		t.Errorf("a child has descriptors %q", fds)
	}
	if sig := spawnAndRead(t, socket, "grep SigIgn /proc/self/status"); !strings.Contains(sig, "0000000000000000") {
		t.Errorf("a child ignores signals: %q", sig)
	}
}

func TestSignalEndsTheDaemonAndItsChildren(t *testing.T) {
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep=", keep), func(t *testing.T) {
			socket := daemon(t, fmt.Sprint("-keep-children=", keep))
			ppid := spawnAndRead(t, socket, "echo $PPID")
			pid, err := strconv.Atoi(strings.TrimSpace(ppid))
			if err != nil {
				t.Fatal(err)
			}
			child := spawnAndRead(t, socket, "sleep 100 & echo $!")
			cpid, err := strconv.Atoi(strings.TrimSpace(child))
			if err != nil {
				t.Fatal(err)
			}
			ask(t, socket, "process.spawn", `{"id":"live","command":"sleep","args":["100"]}`)
			if err := syscall.Kill(pid, syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			if got := ask(t, socket, "server.ping", "{}"); !strings.Contains(got, "pong") {
				t.Errorf("after SIGHUP: %q", got)
			}
			live := ask(t, socket, "process.reattach", `{"id":"live","wantPid":true}`)
			var r struct{ Result struct{ Pid int } }
			if err := json.Unmarshal([]byte(live), &r); err != nil || r.Result.Pid == 0 {
				t.Fatalf("%q: %v", live, err)
			}
			if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			suite.Eventually(t, "the daemon to end", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || zombie(pid) })
			gone := func() bool { return errors.Is(syscall.Kill(r.Result.Pid, 0), syscall.ESRCH) || zombie(r.Result.Pid) }
			if !keep {
				suite.Eventually(t, "the daemon's child to end", gone)
			} else if gone() {
				t.Error("a child was not left alive")
			}
			_ = syscall.Kill(r.Result.Pid, syscall.SIGKILL)
			_ = syscall.Kill(cpid, syscall.SIGKILL)
		})
	}
}

// zombie reports whether a process has ended and was not waited for. A container may have no init that waits.
func zombie(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return strings.HasPrefix(rest, "Z")
}

func TestNewDaemonTakesTheSocketOver(t *testing.T) {
	socket := daemon(t)
	first, err := strconv.Atoi(strings.TrimSpace(spawnAndRead(t, socket, "echo $PPID")))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(socket), "token")
	if err := os.WriteFile(file, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, errs, code := run(t, program(t, "-serve", "-socket", socket, "-token-file", file)); code != 0 {
		t.Fatalf("exit %d, %q", code, errs)
	}
	if err := syscall.Kill(first, syscall.SIGTERM); err != nil { // it does not remove the socket of its successor
		t.Fatal(err)
	}
	suite.Eventually(t, "the first daemon to end", func() bool { return errors.Is(syscall.Kill(first, 0), syscall.ESRCH) || zombie(first) })
	nc, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := io.WriteString(nc, `{"jsonrpc":"2.0","id":1,"method":"server.shutdown","auth":"second"}`+"\n"); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(nc); len(b) != 0 || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

func TestMetrics(t *testing.T) {
	socket := daemon(t, "-metrics-addr", "127.0.0.1:0")
	spawnAndRead(t, socket, "echo")
	log, err := os.ReadFile(filepath.Join(filepath.Dir(socket), "remote-server.log"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(log), "serving Prometheus counters on ") // logged before the launcher ended
	addr, _, ok := strings.Cut(rest, "/metrics\n")
	if !ok {
		t.Fatalf("no address in %q", log)
	}
	resp, err := http.Get("http://" + addr + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if ct := resp.Header.Get("Content-Type"); ct != "text/plain; version=0.0.4; charset=utf-8" {
		t.Errorf("content type %q", ct)
	}
	for _, want := range []string{"# TYPE claustrum_process_spawns_total counter", "claustrum_process_spawns_total 1\n",
		"claustrum_connections_total ",
		"claustrum_process_exits_total ", "claustrum_reattaches_total 0\n", "claustrum_stream_bytes_total ",
		"claustrum_stdin_bytes_total 0\n"} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %q in\n%s", want, b)
		}
	}
}
