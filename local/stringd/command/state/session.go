// Package state holds the state of an agent's topic between commands: its document and history, variables, the files
// it has seen, the last edit and its shell. It also decides which paths the agent may reach.
package state

import (
	"cmp"
	"io/fs"
	"slices"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/local/stringd/command/lang"
	"github.com/cairndb/cairn/local/stringd/inbox"
	"github.com/cairndb/cairn/local/stringd/shell"
	"github.com/cairndb/cairn/node/api"
)

// Agent issues commands.
type Agent struct {
	ID      string
	Home    string
	Allowed []string // further directories that may hold its documents
}

// Host is the daemon that commands run in. It is safe for concurrent use.
type Host interface {
	Agents() []Agent
	AddAgent(id, home string, allowed []string) (created bool, err error)
	RemoveAgent(id string) (bool, error)
	Sessions(agent string) []*Session
	CloseSession(agent, topic string) bool
	Webhook(agent string, rotate bool) (url string, err error)
	Inbox(Agent) *inbox.Inbox
	Status() string
	Shutdown() error
}

// Settings are shared by all sessions of a daemon.
type Settings struct {
	Host       Host
	Memory     api.At        // its scopes let commands run programs, use files and ask other hosts
	FullAccess bool          // documents may lie anywhere
	Roots      Roots         // of agents' homes and allowed directories
	Timeout    time.Duration // of a program
	Environ    []string      // of programs; HOME is the agent's
	Temp       string        // directory for the shells' files
}

// Meta describes the document of a session.
type Meta struct {
	URI           string   `json:"uri"`
	Title         *string  `json:"title"`
	CurrentBlock  *string  `json:"current_block"`
	BlockID       *string  `json:"block_id"`
	Menus         []string `json:"menus"`
	Actions       []string `json:"actions"`
	HistoryLength int      `json:"history_length"`
	Converted     bool     `json:"converted"`
	Warnings      []string `json:"warnings"`
}

// Session is the state of one topic of one agent. One command uses it at a time. Meta, CWD, Close and reads of Topic
// are safe at any time.
type Session struct {
	Settings *Settings
	Topic    lang.Topic
	Agent    Agent // of the running command

	Doc       *Page
	History   []*Page           // pages for /back
	Dir       string            // the directory opened last; empty after a document was opened
	Vars      *orderedMap       // {name}
	Shortcuts map[string]string // @name of templates and recalls
	Menus     map[string]bool   // menus that were shown in full once
	Seen      map[string]Stamp  // files whose content the client has read
	Undo      *Undo

	Shell *shell.Shell
	cwd   atomic.Pointer[string]
	meta  atomic.Pointer[Meta]
}

// NewSession returns the empty session of a topic.
func NewSession(set *Settings, t lang.Topic) *Session {
	return &Session{Settings: set, Topic: t, Vars: NewOrderedMap(), Shortcuts: map[string]string{}, Menus: map[string]bool{},
		Seen:  map[string]Stamp{},
		Shell: shell.New(shell.Config{Environ: set.Environ, Temp: set.Temp})}
}

// Meta describes the session's document; nil without one.
func (s *Session) Meta() *Meta { return s.meta.Load() }

// CWD returns the working directory of the shell, or "" if no shell runs.
func (s *Session) CWD() string {
	if p := s.cwd.Load(); p != nil && s.Shell.Alive() {
		return *p
	}
	return ""
}

// Close ends the shell and the command that runs in it.
func (s *Session) Close() { s.Shell.Close() }

// WorkDir returns the base of relative paths: the directory opened last, else that of the document, else the home.
func (s *Session) WorkDir() string {
	return cmp.Or(s.Dir, s.Doc.Dir(), s.Agent.Home)
}

// Stamp identifies the content of a file by its modification time and size.
type Stamp struct{ modified, size int64 } // in nanoseconds, bytes

// StampOf returns the current stamp of a file.
func StampOf(fi fs.FileInfo) Stamp { return Stamp{fi.ModTime().UnixNano(), fi.Size()} }

// Undo is the last change of a topic.
type Undo struct {
	Path          string
	Before, After string
	Created       bool
}

// UpdateMeta sets the result of Meta, after a command has ended.
func (s *Session) UpdateMeta() { s.meta.Store(s.describe()) }

// SetCWD sets the result of CWD, after a line of the shell has ended.
func (s *Session) SetCWD(dir string) { s.cwd.Store(&dir) }

// orderedMap keeps its keys in insertion order, so that variables are listed in the order in which they were set.
type orderedMap struct {
	Keys   []string
	Values map[string]string
}

// NewOrderedMap returns an empty map.
func NewOrderedMap() *orderedMap { return &orderedMap{Values: map[string]string{}} }

// Set sets a key.
func (o *orderedMap) Set(k, v string) {
	if _, ok := o.Values[k]; !ok {
		o.Keys = append(o.Keys, k)
	}
	o.Values[k] = v
}

// Del deletes a key.
func (o *orderedMap) Del(k string) {
	delete(o.Values, k)
	o.Keys = slices.DeleteFunc(o.Keys, func(x string) bool { return x == k })
}
