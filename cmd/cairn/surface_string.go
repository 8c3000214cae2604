package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/local/door"
	"github.com/cairndb/cairn/local/stringd"
	commands "github.com/cairndb/cairn/local/stringd/command"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// openString serves agents over HTTP on loopback. Its files are below the node's home in dev and where local.home says,
// else where the protocol has them, below the user's.
func openString(_ context.Context, h *host) (func() error, error) {
	c := h.local.String
	if c.Access != "" && c.Access != "workspace" && c.Access != "full" {
		return nil, fmt.Errorf("local.string_access %q: workspace or full", c.Access)
	}
	cfg := stringd.Config{
		NoShell: !h.allowed(c.Shell), Origins: c.Origins, FullAccess: c.Access == "full", Outbound: c.Outbound, TokenFile: filepath.Join(h.home, "string.token"),
		Addr:   h.port(config.StringOffset, stringPort()),
		Memory: stringMemory{h.memory("default")}, Version: cmp.Or(cli.BuildVersion(), "cairn"),
		AllowShutdown: h.allowed(h.local.AllowShutdown), Stop: h.stop, Logger: h.log.With("surface", "string"), Keys: h.node.Keys(),
		Dropped: h.node.Service().StreamDropped, Closed: []string{h.home},
	}
	var err error
	if cfg.Data, cfg.Agents, err = stringDirs(h.local, h.run, h.dev); err != nil {
		return nil, err
	}
	if cfg.Roots, err = h.roots(); err != nil {
		return nil, err
	}
	if cfg.Token, err = door.Token(cfg.TokenFile); err != nil {
		return nil, err
	}
	drop := func() error { return nil }
	if cfg.Keys != nil && !cfg.NoShell {
		if cfg.Temp, err = memoryDir(h.home); err != nil { // bash reads commands from files
			h.log.Warn("commands would be on the disk: no shell on this node, which encrypts it", "surface", "string", "err", err)
			cfg.NoShell = true
		} else {
			drop = func() error { return os.RemoveAll(cfg.Temp) }
		}
	}
	s, err := stringd.Listen(cfg)
	if err != nil {
		return nil, errors.Join(err, drop())
	}
	h.line.String = "http://" + s.Addr()
	return func() error { return errors.Join(s.Close(), drop()) }, nil
}

// roots are the directories that agents may be given.
func (h *host) roots() ([]string, error) {
	if h.local.Roots == nil && h.dev {
		wd, err := os.Getwd()
		return []string{wd}, err
	}
	for _, dir := range h.local.Roots {
		if !filepath.IsAbs(dir) {
			return nil, fmt.Errorf("local.string_roots %q: want an absolute path", dir)
		}
	}
	return h.local.Roots, nil
}

// stringDirs are where the daemon and its agents keep their files.
func stringDirs(l config.Local, run string, dev bool) (data, agents string, err error) {
	root := filepath.Join(run, "string")
	if !dev && l.Home == "" {
		user, err := os.UserHomeDir()
		if err != nil {
			return "", "", err
		}
		root = filepath.Join(user, ".string")
	}
	data = filepath.Join(root, "daemon")
	if dir := os.Getenv("STRING_DATA_DIR"); dir != "" && !dev {
		data = dir
	}
	data, err = filepath.Abs(data)
	return data, filepath.Join(root, "agents"), err
}

// memoryDir is a directory that is not on a disk; that of a run of this home which was killed goes.
func memoryDir(home string) (string, error) {
	const shm = "/dev/shm"
	var st syscall.Statfs_t
	if err := syscall.Statfs(shm, &st); err != nil {
		return "", err
	}
	if st.Type != 0x01021994 { // tmpfs
		return "", fmt.Errorf("%s is no memory", shm)
	}
	of := fnv.New64a()
	of.Write([]byte(home))
	name := fmt.Sprintf("cairn-string-%016x-", of.Sum64())
	old, err := filepath.Glob(filepath.Join(shm, name+"*"))
	if err != nil {
		return "", err
	}
	for _, dir := range old {
		os.RemoveAll(dir) // what is somebody else's stays
	}
	return os.MkdirTemp(shm, name+"*")
}

// stringPort is the protocol's own port, or the one its environment names.
func stringPort() int {
	const def = 3923
	p, err := strconv.Atoi(os.Getenv("STRING_PORT"))
	if err != nil || p < 1 || p > 65535 {
		return def
	}
	return p
}

// stringMemory is a database as the commands of stringd see it.
type stringMemory struct{ memory }

// leaderless bounds a write while nobody leads: a client is told soon, and an election may still end in time.
const leaderless = 700 * time.Millisecond

// bounded gives a write less time when this node knows no leader.
func (m stringMemory) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := m.svc.Leader(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, leaderless)
}

// week is the half-life of a memory that says none.
const week = 168 // hours

// Remember implements command.Memory.
func (m stringMemory) Remember(ctx context.Context, key string, n commands.Note) (commands.Stored, error) {
	c, err := m.caller()
	if err != nil {
		return commands.Stored{}, err
	}
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	w, err := api.Remember.Do(ctx, m.svc, c, &api.RememberRequest{Draft: api.Draft{Text: n.Text, Type: n.Type, Tier: n.Tier, Source: n.Source, Namespace: n.Namespace,
		Importance: n.Importance, Created: field.Date{Time: n.Created}, Metadata: n.Metadata, HalfLife: week, Certainty: 1, Key: key}})
	if err != nil {
		return commands.Stored{}, err
	}
	return commands.Stored{ID: w.RID, Index: w.Index, Replayed: w.Replayed}, nil
}

// Write implements command.Memory.
func (m stringMemory) Write(ctx context.Context, key string, ops ...oplog.Op) ([]oplog.Result, oplog.Index, error) {
	ctx, cancel := m.bounded(ctx)
	defer cancel()
	return m.memory.Write(ctx, key, ops...)
}

// Think implements command.Memory.
func (m stringMemory) Think(ctx context.Context) (commands.Thought, error) {
	c, err := m.caller()
	if err != nil {
		return commands.Thought{}, err
	}
	a, err := api.Think.Do(ctx, m.svc, c, &api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true}, Limit: 1000})
	if err != nil {
		return commands.Thought{}, err
	}
	t := commands.Thought{Merged: int(a.Merged), Conflicts: int(a.Conflicts), Notes: []string{}, Index: a.Index}
	for _, x := range a.Triggers {
		if x.Type == "decay_review" {
			t.Decayed++
		}
		t.Notes = append(t.Notes, x.Reason)
	}
	return t, nil
}

// Await implements command.Memory.
func (m stringMemory) Await(ctx context.Context, at oplog.Index, leader bool) error {
	c, err := m.caller()
	if err != nil {
		return err
	}
	fr := commit.AtIndex(at)
	none := func(*oplog.View) error { return nil }
	if err := m.svc.View(ctx, c, fr, none); err != nil || !leader {
		return err
	}
	return m.svc.View(ctx, c, commit.Linearizable, none)
}

// Role implements command.Memory.
func (m stringMemory) Role() (string, oplog.Index) {
	st := m.svc.RaftStatus()
	return strings.ToLower(st.State), oplog.Index(st.AppliedIndex)
}

// Cluster implements command.Memory.
func (m stringMemory) Cluster(ctx context.Context) commands.Cluster {
	st := m.svc.Status(ctx)
	c := commands.Cluster{Node: st.NodeID, Role: st.Role, Term: st.CurrentTerm, Commit: st.Commit, Applied: uint64(st.Applied)}
	if st.LeaderID != nil {
		c.Leader = fmt.Sprintf("n%d %s", *st.LeaderID, st.LeaderAddr)
	}
	for _, p := range st.Peers {
		seen := -1.0
		if p.LastSeenSecsAgo != nil {
			seen = *p.LastSeenSecsAgo
		}
		c.Peers = append(c.Peers, commands.Peer{Node: p.NodeID, Role: p.State, Addr: p.Addr, Lag: p.LagEntries, Seen: seen})
	}
	return c
}
