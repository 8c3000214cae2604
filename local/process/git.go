package process

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
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

// git runs git in a directory and returns what it wrote to stdout, without the newlines at its end, and everything it
// wrote.
func (s *Server) git(dir string, args ...string) (out, all string, err error) {
	ctx, cancel := context.WithTimeout(s.ctx, gitTimeout)
	defer cancel()
	env := append(slices.DeleteFunc(s.childEnv(nil), elsewhere), "GIT_TERMINAL_PROMPT=0")
	path, err := lookPath("git", pathOf(env))
	if err != nil {
		return "", "", err
	}
	c := exec.Command(path, append([]string{"-C", dir}, args...)...)
	c.Env = env
	var said capture
	err = runAlone(ctx, c, syscall.SIGTERM, politeTime, said.stdout, said.stderr)
	return strings.TrimRight(said.out.String(), "\n"), strings.TrimRight(said.all.String(), "\n"), err
}

// elsewhere is what would point git at another repository than the one in the request.
func elsewhere(kv string) bool {
	name, _, _ := strings.Cut(kv, "=")
	switch name {
	case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_OBJECT_DIRECTORY",
		"GIT_ALTERNATE_OBJECT_DIRECTORIES":
		return true
	}
	return false
}

// maxGit bounds what one run of git may say.
const maxGit = 64 << 20

// capture keeps what git says, both streams in one and stdout apart; what is over the bound is dropped.
type capture struct {
	mu       sync.Mutex
	out, all bytes.Buffer
}

func (c *capture) stdout(b []byte) { c.take(b, &c.out, &c.all) }
func (c *capture) stderr(b []byte) { c.take(b, &c.all) }

func (c *capture) take(b []byte, to ...*bytes.Buffer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range to {
		o.Write(b[:min(len(b), max(0, maxGit-o.Len()))])
	}
}

func (s *Server) isRepo(dir string) bool {
	out, _, err := s.git(dir, "rev-parse", "--is-inside-work-tree")
	return err == nil && out == "true"
}

func gitInfo(s *Server, p gitParams) (any, *rpcError) {
	if !s.isRepo(p.Path) {
		return struct {
			IsRepo  bool   `json:"isRepo"`
			Slug    string `json:"repoSlug"`
			Default string `json:"defaultBranch"`
		}{}, nil
	}
	root, _, _ := s.git(p.Path, "rev-parse", "--show-toplevel") // what git cannot say stays empty
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
	return struct {
		IsRepo  bool   `json:"isRepo"`
		Repo    string `json:"repo"`
		Branch  string `json:"branch"`
		Root    string `json:"root"`
		Slug    string `json:"repoSlug"`
		Default string `json:"defaultBranch"`
	}{true, filepath.Base(root), branch, root, slug(url), strings.TrimPrefix(def, "refs/remotes/origin/")}, nil
}

// slug is the owner/repo of a remote's URL, empty when there are not exactly two names behind the host.
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

func gitStatus(s *Server, p gitParams) (any, *rpcError) {
	var r struct {
		IsRepo  bool     `json:"isRepo"`
		Clean   bool     `json:"clean"`
		Changes []string `json:"changes,omitempty"`
	}
	if r.IsRepo = s.isRepo(p.Path); !r.IsRepo {
		return r, nil
	}
	out, _, err := s.git(p.Path, "status", "--porcelain")
	if err != nil {
		return nil, internal(err)
	}
	if out = strings.TrimSpace(out); out == "" {
		r.Clean = true
	} else {
		r.Changes = strings.Split(out, "\n")
	}
	return r, nil
}

func gitBranches(s *Server, p gitParams) (any, *rpcError) {
	r := struct {
		IsRepo   bool     `json:"isRepo"`
		Branches []string `json:"branches"`
	}{s.isRepo(p.Path), []string{}}
	if !r.IsRepo {
		return r, nil
	}
	out, _, err := s.git(p.Path, "for-each-ref", "--format=%(refname:short)", "refs/heads")
	if err != nil {
		return nil, internal(err)
	}
	if out != "" {
		r.Branches = strings.Split(out, "\n")
		slices.Sort(r.Branches)
	}
	return r, nil
}

type worktreeResult struct {
	Success bool   `json:"success"`
	Path    string `json:"path,omitempty"`
	Error   string `json:"error,omitempty"`
	Code    string `json:"errorCode,omitempty"`
	Source  string `json:"sourceBranch,omitempty"`
}

func gitWorktreeCreate(s *Server, p gitParams) (any, *rpcError) {
	if p.BranchName == "" {
		return nil, refuse(codeParams, "branchName is required")
	}
	base := p.BaseRepo
	if base == "" {
		base = "."
	}
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
		if strings.HasPrefix(v, "-") { // git would take it for an option
			return worktreeResult{Error: "git worktree add failed: invalid value: " + v, Code: "worktree_add_failed"}, nil
		}
	}
	args := []string{"worktree", "add", "-b", p.BranchName, p.WorktreePath}
	if source != "" {
		args = append(args, source)
	}
	if _, all, err := s.git(base, args...); err != nil {
		return worktreeResult{Error: "git worktree add failed: " + all, Code: "worktree_add_failed"}, nil
	}
	return worktreeResult{Success: true, Path: p.WorktreePath, Source: source}, nil
}

// gitWorktreeRemove always says that it went well.
func gitWorktreeRemove(s *Server, p gitParams) (any, *rpcError) {
	base := p.BaseRepo
	if base == "" {
		base = "."
	}
	if !strings.HasPrefix(p.WorktreePath, "-") {
		_, _, _ = s.git(base, "worktree", "remove", "--force", p.WorktreePath)
	}
	return struct {
		Success bool `json:"success"`
	}{true}, nil
}
