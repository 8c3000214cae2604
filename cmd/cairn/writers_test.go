package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// makesFiles matches code that creates files.
var makesFiles = regexp.MustCompile(`os\.(Create|CreateTemp|WriteFile)\(|os\.O_CREATE|bolt\.Open\(|NewScorch\(|raftboltdb\.New\(|NewFileSnapshotStore`)

// writers lists the files of code that create files, with the reason why that is safe on an encrypted node: they
// encrypt the data, write no data of users, or write to a place that the user chose.
var writers = map[string]string{
	"oplog/state/lock.go":                 "a lock",
	"oplog/snapshot/archive/archive.go":   "what the node writes: sealed backups",
	"oplog/seal/rewrite.go":               "sealed",
	"raft/logstore/fs.go":                 "sealed",
	"raft/logstore/votes.go":              "sealed values under plain keys",
	"raft/recovery/files.go":              "a mark; places in the log; sums of where in the log snapshots are",
	"raft/snapshots.go":                   "sealed",
	"index/text/open.go":                  "sealed by Bleve's hooks; a format number",
	"index/restore.go":                    "sealed",
	"index/sections.go":                   "sealed",
	"node/engine/operate/spool.go":        "sealed",
	"node/engine/operate/backup.go":       "nothing, to have a time",
	"index/embed/models/fetch.go":         "a model, as its publisher has it",
	"index/embed/models/recipe.go":        "a model, as its publisher has it",
	"node/home/skip.go":                   "places in the log, and sums of records",
	"node/disk/reserve.go":                "nothing, to have room later",
	"oplog/syncwriter/replace.go":         "the keyring, wrapped; sealed; or where damage is, places in the log, the cluster secret and a token, which others read",
	"local/door/token.go":                 "tokens, which clients read",
	"local/kit/file.go":                   "what its callers have sealed, or would write plain",
	"local/covenant/audit/verify.go":      "a time",
	"local/covenant/journal/journal.go":   "sealed",
	"local/covenant/ignore/ignore.go":     "the protocol's own rules",
	"local/stringd/server.go":             "a lock",
	"local/stringd/shell/shell.go":        "commands, in memory on an encrypted node",
	"local/process/replay.go":             "sealed",
	"local/process/tar.go":                "where clients say",
	"local/process/standalone/install.go": "no node's",
	"local/process/standalone/serve.go":   "no node's",
	"local/sift/server.go":                "the workspace's directory and a process id, which clients read",
	"cmd/cairn/transfer/backup.go":        "what the node sent",
	"cmd/cairn/stopped/key.go":            "a master key, where it is asked for",
	"cmd/cairn/cli/running.go":            "addresses",
	"cmd/cairn/shell/line.go":             "lines that a user typed, in the user's own configuration; none with a token",
	"cmd/cairn/agents/spool.go":           "captures that wait for a node, without secrets, in the user's own configuration",
	"cmd/cairn/doctor/host.go":            "nothing, to see how long it takes",
	"cmd/cairn/debug/debug.go":            "a bundle without memories, where it is asked for",
	"cmd/cairn/config/node_file.go":       "configurations",
	"cmd/cairn/cluster/cluster.go":        "the token of a cluster that it has configured, which clients read",
}

// TestEveryWriterIsThoughtOf checks that all code that creates files has a row in writers.
func TestEveryWriterIsThoughtOf(t *testing.T) {
	root := filepath.Join("..", "..")
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "deploy" || d.Name() == ".ci") { // not part of a node
			return fs.SkipDir
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil || !makesFiles.Match(raw) {
			return err
		}
		found++
		name, err := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		// their own clusters and figures; packages for tests
		if strings.HasPrefix(name, "cmd/cairn/bench/") || strings.HasPrefix(name, "cmd/lab/") ||
			strings.HasSuffix(filepath.Dir(name), "test") {
			return err
		}
		if writers[name] == "" {
			t.Errorf("%s makes files: seal what it writes (package seal), and say so in writers", name)
		}
		return err
	})
	if err != nil || found < 20 {
		t.Errorf("%d writers found, %v", found, err)
	}
}
