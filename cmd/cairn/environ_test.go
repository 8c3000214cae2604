package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// nobodyID is the id of a user who owns no files.
const nobodyID = 65534

// TestTheEnvironmentIsClosed starts a node with its master key in the environment. A program of the node's own user,
// such as an agent's shell, must be able to read neither the environment nor the memory of the node, and the system
// must no longer have the key.
func TestTheEnvironmentIsClosed(t *testing.T) {
	suite.Full(t)
	if runtime.GOOS != "linux" {
		t.Skip("the environment of another process is read in /proc, which this system has not")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "cairn-environ-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := seal.NewMaster().Text()
	p := &cairntest.Node{T: t,
		Args: []string{"dev", "--home", filepath.Join(dir, "home"), "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6))}}
	as := (*syscall.SysProcAttr)(nil)
	if os.Getuid() == 0 { // root can read everything, so node and shell run as another user
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyID, Gid: nobodyID}}
		p.Bin = filepath.Join(dir, "cairn")
		if err := copyFile(os.Args[0], p.Bin); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, nobodyID, nobodyID); err != nil {
			t.Fatal(err)
		}
	}
	p.SysProcAttr, p.Env = as, []string{config.HexKeyEnv + "=" + key, "CAIRN_TEST_BESIDE=kept"}
	t.Cleanup(p.Kill)
	p.Launch()()
	for _, file := range []string{"environ", "mem", "maps"} {
		cat := exec.Command("head", "-c", "1", fmt.Sprintf("/proc/%d/%s", p.Cmd.Process.Pid, file))
		cat.Dir, cat.SysProcAttr = "/", as
		if out, err := cat.CombinedOutput(); err == nil || !strings.Contains(string(out), "ermission denied") {
			t.Errorf("a program of the node's user reads %s: %q, %v", file, out, err)
		}
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.Cmd.Process.Pid))
	if errors.Is(err, fs.ErrPermission) {
		t.Skip("what the system has of the environment is shown to root alone")
	}
	if err != nil || strings.Contains(string(b), key) || !strings.Contains(string(b), "CAIRN_TEST_BESIDE=kept") {
		t.Errorf("what the system has of the environment: %q, %v", b, err)
	}
}

// copyFile copies a program and lets any user run it.
func copyFile(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o755)
}
