package sift

import (
	"context"
	"encoding/json"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/transcript"
)

// rollouts finds the rollouts of a workspace, or all, and when they changed. They lie in a directory a day.
func rollouts(ctx context.Context, root string, w Workspace, own bool) map[string]time.Time {
	changed := map[string]time.Time{}
	days, err := filepath.Glob(filepath.Join(root, "[0-9]*", "[0-9]*", "[0-9]*"))
	if err != nil {
		return nil
	}
	for _, day := range days {
		_ = filepath.WalkDir(day, func(path string, e fs.DirEntry, err error) error { // a directory that cannot be read has none
			switch {
			case ctx.Err() != nil:
				return fs.SkipAll
			case err != nil || e.IsDir() && path != day:
				return fs.SkipDir
			case !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), "rollout-") || filepath.Ext(e.Name()) != ".jsonl" || own && !w.holds(rolloutDir(path)):
				return nil
			}
			if i, err := e.Info(); err == nil {
				changed[path] = i.ModTime()
			}
			return nil
		})
	}
	return changed
}

// holds says whether a directory is in the workspace.
func (w Workspace) holds(dir string) bool {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	return dir == w.Dir || dir == w.Top || strings.HasPrefix(dir, strings.TrimSuffix(w.Top, "/")+"/")
}

// rolloutDir is the directory of a rollout's session; blank when its first line does not say.
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
		if err == nil && json.Unmarshal(raw, &l) == nil && l.Type == transcript.RolloutBegin {
			return l.Payload.Dir
		}
		return ""
	}
	return ""
}
