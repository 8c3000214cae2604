package main

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// examples holds a call, without the word cairn, of each command that does not define its own example.
//
//go:embed examples.txt
var examples string

// showExamples sets the examples of the commands below all. It panics if a line names an unknown command.
func showExamples(all *cobra.Command) {
	for line := range strings.SplitSeq(strings.TrimSpace(examples), "\n") {
		c, _, err := all.Find(strings.Fields(line))
		if err != nil || c == all || c.Example != "" {
			panic("cairn: the example " + line)
		}
		c.Example = "  cairn " + line
	}
}
