package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// TestEveryPrintedCommandIsOne: each lab command in a page, a script or the help is valid.
func TestEveryPrintedCommandIsOne(t *testing.T) {
	t.Parallel()
	printed := map[string]string{}
	find := regexp.MustCompile("go run \\./cmd/lab ([^`\n]*)")
	add := func(where, text string) {
		for _, m := range find.FindAllStringSubmatch(text, -1) {
			line, _, _ := strings.Cut(m[1], "  ") // a comment follows
			printed[line] = where
		}
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !(strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".sh")) {
			return err
		}
		b, err := os.ReadFile(path)
		add(path, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var help func(*cobra.Command)
	help = func(c *cobra.Command) {
		add(c.CommandPath()+" --help", c.Long+"\n"+c.Example+"\n")
		for _, sub := range c.Commands() {
			help(sub)
		}
	}
	help(command(&cli.Streams{}))
	for line, where := range printed {
		root := command(&cli.Streams{})
		c, rest, err := root.Find(strings.Fields(line))
		if err == nil && c == root && line != "--help" {
			t.Errorf("%s: no verb of the lab: %s", where, line)
			continue
		}
		if err == nil && line != "--help" {
			err = c.ParseFlags(rest)
		}
		if err == nil {
			err = c.ValidateArgs(c.Flags().Args())
		}
		if err != nil {
			t.Errorf("%s: lab %s: %v", where, line, err)
		}
	}
	if len(printed) < 15 {
		t.Errorf("only %d commands are printed", len(printed))
	}
}
