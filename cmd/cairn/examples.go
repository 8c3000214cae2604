package main

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// examples holds a call of each command that has none of its own; the word cairn stands before it.
//
//go:embed examples.txt
var examples string

// showExamples gives each command below all its example.
func showExamples(all *cobra.Command) {
	for line := range strings.SplitSeq(strings.TrimSpace(examples), "\n") {
		c, _, err := all.Find(strings.Fields(line))
		if err != nil || c == all || c.Example != "" {
			panic("cairn: the example " + line)
		}
		c.Example = "  cairn " + line
	}
}
