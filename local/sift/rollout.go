package sift

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/transcript"
)

// rollouts adds the rollouts of Codex: those of the workspace if ownOnly is set, otherwise all. Each day has its own
// directory.
func (f sessionFiles) rollouts(ctx context.Context, root string, w Workspace, ownOnly bool) {
	days, _ := filepath.Glob(filepath.Join(root, "[0-9]*", "[0-9]*", "[0-9]*")) // fails only if root is an invalid pattern
	for _, day := range days {
		if i, err := os.Lstat(day); err == nil && i.IsDir() {
			f.add(day, "rollout-", func(path string) bool { return ctx.Err() == nil && (!ownOnly || w.contains(rolloutDir(path))) })
		}
	}
}

// contains reports whether a directory is in the workspace.
func (w Workspace) contains(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir == w.Dir || dir == w.Top || strings.HasPrefix(dir, strings.TrimSuffix(w.Top, "/")+"/")
}

// rolloutDir returns the directory of the session of a rollout, or "" if its first line has no directory.
func rolloutDir(path string) string {
	f, err := openRegular(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for raw, err := range kit.Lines(f, maxLine) {
		var l struct {
			Type    string `json:"type"`
			Payload struct {
				Dir string `json:"cwd"`
			} `json:"payload"`
		}
		if err == nil && json.Unmarshal(raw, &l) == nil && l.Type == transcript.RolloutMeta {
			return l.Payload.Dir
		}
		return ""
	}
	return ""
}
