// Package git runs git for dialects on a repository that a client names, so that nothing in the repository starts a
// program. Hooks, the file system monitor, pagers, external diffs, filters and transports are switched off. The
// package only builds commands. Its callers, local/process and local/sift, run them after the door has allowed it.
package git

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
)

// safeConfig disables every setting with which the configuration of a repository could start a program.
var safeConfig = []string{"--no-pager", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "core.pager=cat",
	"-c", "core.sshCommand=false",
	"-c", "core.askPass=", "-c", "credential.helper=", "-c", "diff.external=", "-c", "core.alternateRefsCommand=", "-c",
	"protocol.allow=never"}

// redirects are the environment variables that could point git to another repository or to a program.
var redirects = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR", "GIT_NAMESPACE",
	"GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
	"GIT_PROXY_COMMAND", "GIT_ALLOW_PROTOCOL"}

// Command returns a git command for a directory. It is killed when ctx ends. extra holds further settings, such as
// those of Filters.
func Command(ctx context.Context, program, dir string, env, extra []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, program, slices.Concat([]string{"-C", dir}, safeConfig, extra, args)...)
	c.Env = append(slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(redirects, name)
	}), "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1")
	return c
}

// ListFilters holds the arguments with which git lists the filters of a repository. Filters parses the output.
var ListFilters = []string{"config", "--show-scope", "--includes", "--null", "--name-only", "--get-regexp", `^filter\..*\.`}

var errFilter = errors.New("the repository has a filter whose name cannot be switched off")

// Filters returns the settings that disable the filters of the repository's own configuration, because git status and
// git worktree add would run them. The user's filters, such as Git LFS, stay enabled.
func Filters(listing string) (off []string, err error) {
	parts := strings.Split(listing, "\x00")
	for i := 0; i+1 < len(parts); i += 2 {
		scope, key := parts[i], parts[i+1]
		if scope != "local" && scope != "worktree" {
			continue
		}
		if strings.ContainsAny(key, "=\n") {
			return nil, errFilter
		}
		driver := key[:strings.LastIndexByte(key, '.')]
		for _, set := range []string{".clean=", ".smudge=", ".process=", ".required=false"} {
			if !slices.Contains(off, driver+set) {
				off = append(off, "-c", driver+set)
			}
		}
	}
	return off, nil
}
