package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestGitRunsNothingOfARepository: a repository whose configuration names programs in all places starts none of them
// when a client requests its state or adds a work tree. Plain git does start them, which shows that the test works.
func TestGitRunsNothingOfARepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	repo, marks := filepath.Join(dir, "repo"), filepath.Join(dir, "marks")
	program := func(name, then string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, fmt.Appendf(nil, "#!/bin/sh\necho %s >> %s\n%s\n", name, marks, then), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := func(args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		c.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "HOME="+dir)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v, %s", args, err, out)
		}
	}
	started := func() string {
		b, err := os.ReadFile(marks)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		_ = os.Remove(marks)
		return string(b)
	}
	if err := os.Mkdir(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	plain("init", "-q", "-b", "main")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repo, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(".gitattributes", "*.txt filter=evil diff=evil\n")
	write("a.txt", "a\n")
	plain("add", ".")
	plain("commit", "-q", "-m", "first")
	write(".git/hooks/post-checkout", "#!/bin/sh\necho hook >> "+marks+"\n")
	write(".git/hooks/post-index-change", "#!/bin/sh\necho hook >> "+marks+"\n")
	for key, value := range map[string]string{
		"core.fsmonitor": program("fsmonitor", ""), "core.pager": program("pager", "cat"),
		"diff.external": program("external", ""), "filter.evil.clean": program("clean", "cat"),
		"filter.evil.smudge": program("smudge", "cat"), "diff.evil.textconv": program("textconv", "cat"),
		"core.sshCommand": program("ssh", ""), "credential.helper": program("helper", ""),
		"core.askPass": program("askpass", ""), "protocol.ext.allow": "always",
		"remote.origin.url": "ext::" + program("remote", ""), "remote.origin.promisor": "true",
	} {
		plain("config", key, value)
	}
	started()
	write("a.txt", "b\n") // of the same length, so that git must read it
	plain("status", "--porcelain")
	plain("worktree", "add", "-q", filepath.Join(dir, "plain"))
	said := started()
	for _, name := range []string{"hook", "fsmonitor", "clean", "smudge"} {
		if !strings.Contains(said, name) {
			t.Errorf("plain git does not run the %s, so the test does not try it: %q", name, said)
		}
	}
	socket, _ := listen(t)
	p := connect(t, socket)
	made := filepath.Join(dir, "made")
	for i, method := range []string{"git.info", "git.status", "git.list_branches", "git.worktree_create", "git.worktree_remove"} {
		write("a.txt", fmt.Sprintf("%d\n", i))
		got := p.answer(p.ask(method, map[string]string{"path": repo, "baseRepo": repo, "branchName": "b", "worktreePath": made}))
		if got.Error != nil || strings.Contains(string(got.Result), "failed") {
			t.Errorf("%s: %s, %+v", method, got.Result, got.Error)
		}
		if said := started(); said != "" {
			t.Errorf("%s runs %q", method, said)
		}
		if i == 3 {
			if b, err := os.ReadFile(filepath.Join(made, "a.txt")); err != nil || string(b) != "a\n" {
				t.Errorf("the new work tree has %q, %v", b, err)
			}
		}
	}
	plain("config", "filter.x=y.clean", program("odd", "cat"))
	if got := p.answer(p.ask("git.status", map[string]string{"path": repo})); got.Error == nil ||
		!strings.Contains(got.Error.Message, "cannot be switched off") {
		t.Errorf("a filter that cannot be switched off: %s, %+v", got.Result, got.Error)
	}
	if said := started(); said != "" {
		t.Errorf("it runs %q", said)
	}
}
