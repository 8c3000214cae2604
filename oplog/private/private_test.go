package private_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog/private"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestDirectories: MakeDir creates a directory for this user only. A directory that others may enter is rejected with
// the command that fixes it.
func TestDirectories(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "a", "b")
	must(t, private.MakeDir(dir))
	for _, mode := range []fs.FileMode{0o701, 0o710, 0o755, 0o770, 0o777} {
		must(t, os.Chmod(dir, mode))
		if err := private.MakeDir(dir); !errors.Is(err, private.ErrOpen) || !strings.Contains(err.Error(), "chmod 700 "+dir) {
			t.Errorf("mode %04o: %v", mode, err)
		}
	}
	must(t, os.Chmod(dir, 0o700))
	link := dir + ".link"
	must(t, os.Symlink(dir, link))
	must(t, private.MakeDir(link)) // the user's own link is followed
	if os.Getuid() != 0 {
		t.Skip("not root: nothing can be given to another user")
	}
	must(t, os.Lchown(link, 65534, 65534))
	if err := private.MakeDir(link); !errors.Is(err, private.ErrOpen) || !strings.Contains(err.Error(), "uid 65534") {
		t.Errorf("another user's link: %v", err)
	}
	must(t, os.Chown(dir, 65534, 65534))
	if err := private.MakeDir(dir); !errors.Is(err, private.ErrOpen) || !strings.Contains(err.Error(), "uid 65534") {
		t.Errorf("another user's directory: %v", err)
	}
}

// TestFiles: a secret is read only from a regular file that others can neither read nor change. Links, and readers in
// the group, are allowed if the operator names the path.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, link, pipe := filepath.Join(dir, "secret"), filepath.Join(dir, "link"), filepath.Join(dir, "pipe")
	must(t, os.WriteFile(path, []byte("text\n"), 0o600))
	must(t, os.Symlink(path, link))
	must(t, syscall.Mkfifo(pipe, 0o600))
	for _, c := range []struct {
		path       string
		mode       fs.FileMode
		own, named bool
	}{
		{path, 0o600, true, true}, {path, 0o400, true, true}, {path, 0o640, false, true}, {path, 0o440, false, true},
		{path, 0o660, false, false},
		{path, 0o604, false, false}, {path, 0o602, false, false}, {link, 0o600, false, true}, {link, 0o644, false, false},
		{pipe, 0o600, false, false}, {dir, 0o700, false, false},
	} {
		must(t, os.Chmod(c.path, c.mode))
		for name, want := range map[string]bool{"own": c.own, "named": c.named} {
			read := private.Read
			if name == "named" {
				read = private.ReadNamed
			}
			b, err := read(c.path)
			if want && (err != nil || string(b) != "text\n") || !want && !errors.Is(err, private.ErrOpen) {
				t.Errorf("%s, %s %04o: %q, %v", name, filepath.Base(c.path), c.mode, b, err)
			}
		}
	}
	if _, err := private.Read(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestQuote: the shell parses a quoted text as one word with the same content. Names without special characters are
// not quoted.
func TestQuote(t *testing.T) {
	for _, text := range []string{"/srv/cairn-data_2/node.toml", "", "a b", "$HOME", "it's", "a;b&c|d>e", "`id`", "~", "*",
		`back\\slash "quoted"`, "é 漢"} {
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", "printf '%s|' "+private.Quote(text)).Output()
		if err != nil || string(out) != text+"|" {
			t.Errorf("%s is %q, %v; want %q", private.Quote(text), out, err, text)
		}
	}
	if got := private.Quote("/srv/cairn-data_2/node.toml"); got != "/srv/cairn-data_2/node.toml" {
		t.Errorf("a plain path is %s", got)
	}
}

// TestTheCommandThatClosesAFile: the printed command works as it is, whatever the name of the file.
func TestTheCommandThatClosesAFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "it's a $secret")
	must(t, os.WriteFile(path, []byte("x"), 0o644))
	_, err := private.ReadNamed(path)
	_, command, found := strings.Cut(fmt.Sprint(err), "change it: ")
	if !found {
		t.Fatal(err)
	}
	must(t, exec.CommandContext(t.Context(), "/bin/sh", "-c", command).Run())
	if b, err := private.ReadNamed(path); err != nil || string(b) != "x" {
		t.Errorf("behind %s: %q, %v", command, b, err)
	}
}
