package process

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairndb/cairn/local/child"
	"github.com/cairndb/cairn/local/git"
	"github.com/cairndb/cairn/local/kit"
)

type gitParams struct {
	Path         string `json:"path"`
	BaseRepo     string `json:"baseRepo"`
	BranchName   string `json:"branchName"`
	WorktreePath string `json:"worktreePath"`
	SourceBranch string `json:"sourceBranch"`
}

// gitTimeout bounds one run of git.
const gitTimeout = 60 * time.Second

// git runs git in a directory. It returns stdout without trailing newlines, and the output of both streams.
func (s *Server) git(dir string, args ...string) (out, all string, err error) {
	return s.gitWith(dir, nil, args...)
}

// gitFiles runs a git command that reads or writes files of the work tree. It switches off the repository's own
// filters.
func (s *Server) gitFiles(dir string, args ...string) (out, all string, err error) {
	listing, _, err := s.git(dir, git.ListFilters...)
	// Git exits with 1 if there are no filters.
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !(ok && exit.ExitCode() == 1) {
		return "", "", err
	}
	off, err := git.Filters(listing)
	if err != nil {
		return "", err.Error(), err
	}
	return s.gitWith(dir, off, args...)
}

func (s *Server) gitWith(dir string, set []string, args ...string) (out, all string, err error) {
	ctx, cancel := context.WithTimeout(s.Ctx, gitTimeout)
	defer cancel()
	path, err := lookPath("git", s.path())
	if err != nil {
		return "", "", err
	}
	output := outputCapture{limit: maxGitOutput}
	c := git.Command(context.WithoutCancel(ctx), path, dir, s.childEnv(nil), set, args...)
	err = child.Run(ctx, child.Program{Cmd: c, Out: output.stdout, Err: output.stderr, StopSignal: syscall.SIGTERM}) // SIGTERM lets git remove its lock files
	return strings.TrimRight(output.out.String(), "\n"), strings.TrimRight(output.all.String(), "\n"), err
}

// maxGitOutput bounds each output stream of a git command.
const maxGitOutput = 64 << 20

// outputCapture collects the output of a program: stdout, and both streams together. It drops bytes over the limit.
type outputCapture struct {
	limit    int // bytes of each buffer
	mu       sync.Mutex
	out, all bytes.Buffer
}

func (c *outputCapture) stdout(b []byte) { c.write(b, &c.out, &c.all) }
func (c *outputCapture) stderr(b []byte) { c.write(b, &c.all) }

func (c *outputCapture) write(b []byte, to ...*bytes.Buffer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range to {
		o.Write(b[:min(len(b), max(0, c.limit-o.Len()))])
	}
}

func (s *Server) isRepo(dir string) bool {
	out, _, err := s.git(dir, "rev-parse", "--is-inside-work-tree")
	return err == nil && out == "true"
}

func gitInfo(s *Server, p gitParams) (any, error) {
	if !s.isRepo(p.Path) {
		return kit.Object{"isRepo", false, "repoSlug", "", "defaultBranch", ""}, nil
	}
	root, _, _ := s.git(p.Path, "rev-parse", "--show-toplevel") // empty if git fails
	branch, _, err := s.git(p.Path, "symbolic-ref", "--short", "HEAD")
	if err != nil {
		sha, _, _ := s.git(p.Path, "rev-parse", "--short", "HEAD")
		branch = "detached:" + sha
	}
	url, _, _ := s.git(p.Path, "config", "--get", "remote.origin.url")
	def, _, err := s.git(p.Path, "symbolic-ref", "refs/remotes/origin/HEAD")
	if err != nil {
		def = ""
	}
	return kit.Object{"isRepo", true, "repo", filepath.Base(root), "branch", branch, "root", root, "repoSlug", slug(url),
		"defaultBranch", strings.TrimPrefix(def, "refs/remotes/origin/")}, nil
}

// slug returns owner/repo of a remote URL, or "" if the path does not have exactly two names.
func slug(url string) string {
	url = strings.TrimSpace(url)
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	if user, rest, ok := strings.Cut(url, "@"); ok && !strings.Contains(user, "/") {
		url = rest
	}
	i := strings.IndexAny(url, ":/")
	if i <= 0 { // no host
		return ""
	}
	owner, repo, ok := strings.Cut(strings.TrimSuffix(strings.TrimRight(url[i+1:], "/"), ".git"), "/")
	if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
		return ""
	}
	return owner + "/" + repo
}

func gitStatus(s *Server, p gitParams) (any, error) {
	if !s.isRepo(p.Path) {
		return kit.Object{"isRepo", false, "clean", false}, nil
	}
	// A submodule has its own configuration, with its own filters.
	out, _, err := s.gitFiles(p.Path, "status", "--porcelain", "--ignore-submodules=dirty")
	if err != nil {
		return nil, err
	}
	if out = strings.TrimSpace(out); out == "" {
		return kit.Object{"isRepo", true, "clean", true}, nil
	}
	return kit.Object{"isRepo", true, "clean", false, "changes", strings.Split(out, "\n")}, nil
}

func gitBranches(s *Server, p gitParams) (any, error) {
	branches := []string{}
	is := s.isRepo(p.Path)
	if is {
		out, _, err := s.git(p.Path, "for-each-ref", "--format=%(refname:short)", "refs/heads")
		if err != nil {
			return nil, err
		}
		if out != "" {
			branches = strings.Split(out, "\n")
			slices.Sort(branches)
		}
	}
	return kit.Object{"isRepo", is, "branches", branches}, nil
}

type worktreeResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    string `json:"errorCode,omitempty"`
	Source  string `json:"sourceBranch,omitempty"`
}

func gitWorktreeCreate(s *Server, p gitParams) (any, error) {
	if p.BranchName == "" {
		return nil, rpcErrorf(codeParams, "branchName is required")
	}
	base := cmp.Or(p.BaseRepo, ".")
	if !s.isRepo(base) {
		return worktreeResult{Error: "not a git repository", Code: "not_a_repo"}, nil
	}
	source := p.SourceBranch
	if source == "" {
		if out, _, err := s.git(base, "rev-parse", "--abbrev-ref", "HEAD"); err == nil {
			source = out
		}
	}
	for _, v := range []string{p.BranchName, p.WorktreePath, source} {
		if strings.HasPrefix(v, "-") { // git would parse it as an option
			return worktreeResult{Error: "git worktree add failed: invalid value: " + v, Code: "worktree_add_failed"}, nil
		}
	}
	args := []string{"worktree", "add", "-b", p.BranchName, p.WorktreePath}
	if source != "" {
		args = append(args, source)
	}
	if _, all, err := s.gitFiles(base, args...); err != nil {
		return worktreeResult{Error: "git worktree add failed: " + all, Code: "worktree_add_failed"}, nil
	}
	return worktreeResult{Success: true, Path: p.WorktreePath, Source: source}, nil
}

// gitWorktreeRemove always answers success, as the protocol requires.
func gitWorktreeRemove(s *Server, p gitParams) (any, error) {
	base := cmp.Or(p.BaseRepo, ".")
	if !strings.HasPrefix(p.WorktreePath, "-") {
		_, _, _ = s.gitFiles(base, "worktree", "remove", "--force", p.WorktreePath)
	}
	return kit.Object{"success", true}, nil
}
