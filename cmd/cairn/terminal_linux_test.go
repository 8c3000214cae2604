package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestShellOnATerminal checks that the shell completes names, keeps a history without tokens, ends the running
// command and not itself on Ctrl-C, and restores the terminal.
func TestShellOnATerminal(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "one process at a terminal, and no two goroutines of ours")
	_, home := cairntest.StartDev(t)
	dir := t.TempDir()
	x := onTerminal(t, []string{"CAIRN_CONTEXTS=" + filepath.Join(dir, "contexts.json")}, "shell", "--home", home)
	x.Shows("cairn> ")
	if !x.Raw() {
		t.Error("keys do not reach the shell")
	}
	x.Type("remem\t\"the harbour is calm\"\r")
	x.Shows("-") // the memory's id
	x.Shows("cairn> ")
	x.Type("recall harbour --namespa\tdefault\r")
	x.Shows("the harbour is calm")
	x.Shows("cairn> ")
	x.Type("recall calm -n def\t\r") // completes a name from the node
	x.Shows("default")
	x.Shows("the harbour is calm")
	x.Shows("cairn> ")
	x.Type("se\t\t")
	x.Shows("sessions")
	x.Type("\x15watch\r") // Ctrl-U deletes the line
	x.Shows("watch")
	suite.Eventually(t, "the shell to leave the keys to the command", func() bool { return !x.Raw() })
	x.Type("\x03")
	x.Shows("cairn> ")
	x.Type("stats --token not-kept\r")
	x.Shows("cairn> ")
	x.Type("\x1b[A\x1b[A\x1b[A\r") // the third last line
	x.Shows("the harbour is calm")
	x.Shows("cairn> ")
	x.Type("\x04")
	if err := x.Ends(); err != nil {
		t.Error(err)
	}
	if x.Raw() {
		t.Error("the terminal is not as it was")
	}
	b, err := os.ReadFile(filepath.Join(dir, "history"))
	if err != nil || !strings.Contains(string(b), "recall harbour --namespace default\n") || strings.Contains(string(b), "not-kept") {
		t.Errorf("the history is %q, %v", b, err)
	}
}

// TestTopOnATerminal checks that `cairn top` draws frames, reacts to keys, and restores the terminal.
func TestTopOnATerminal(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "one process at a terminal, and no two goroutines of ours")
	_, home := cairntest.StartDev(t)
	x := onTerminal(t, nil, "top", "--home", home, "--interval", "100ms")
	x.Shows("NODE*")
	x.Shows("Leader")
	if !x.Raw() {
		t.Error("keys do not reach top")
	}
	x.Type("\x1b[C\x1b[C")
	x.Shows("WRITES/S*")
	x.Type("l")
	x.Shows("create_token")
	x.Type("?")
	x.Shows("acknowledged entries")
	x.Type("p")
	x.Shows("p go on")
	x.Type("q")
	x.Shows("\x1b[?1049l")
	if err := x.Ends(); err != nil {
		t.Error(err)
	}
	if x.Raw() {
		t.Error("the terminal is not as it was")
	}
}
