package process_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

// shell makes a script the login shell of the test.
func shell(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shell")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELL", path)
}

// pathOfChild returns the PATH of a process. Its command was found through the same PATH.
func pathOfChild(t *testing.T) string {
	t.Helper()
	socket, _ := listen(t)
	p := connect(t, socket)
	p.sh("p", "printf %s \"$PATH\"")
	return p.output("p")
}

func TestLoginPath(t *testing.T) {
	own := os.Getenv("PATH")
	for _, c := range []struct{ name, script, want string }{
		{"plain", `PATH=/login/bin:$PATH; exec /bin/sh -c "$4"`, "/login/bin:" + own},
		{"noise before, and a failure", `echo welcome; printf 'prompt> ' >&2; PATH=/x:$PATH /bin/sh -c "$4"; exit 3`, "/x:" + own},
		{"nothing said", `exit 0`, own},
		{"empty", `PATH= ; exec /bin/sh -c "$4"`, own},
		{"endless output", `yes 2>/dev/null | head -c 3000000; PATH=/late /bin/sh -c "$4"`, own},
		{"left open", `sleep 100 & PATH=/y:$PATH /bin/sh -c "$4"`, "/y:" + own},
	} {
		t.Run(c.name, func(t *testing.T) {
			shell(t, c.script)
			if got := pathOfChild(t); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A login shell that hangs delays the first process by pathTimeout, and is killed then.
func TestLoginShellThatHangs(t *testing.T) {
	suite.Full(t)
	mark := filepath.Join(t.TempDir(), "mark")
	shell(t, `echo $$ >`+mark+`; echo ___CLAUDE_SSH_PATH_EXTRACT___/half; while :; do sleep 0.05; done`)
	start := time.Now()
	if got := pathOfChild(t); got != os.Getenv("PATH") {
		t.Errorf("PATH %q", got)
	}
	if d := time.Since(start); d < 3*time.Second {
		t.Errorf("after %s", d)
	}
	b, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	group, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	goneSoon(t, group)
}
