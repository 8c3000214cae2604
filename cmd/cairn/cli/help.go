package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// connectionFlags lists the flags for the connection to a node. Help prints them below the command's own flags.
var connectionFlags = []string{"context", "home", "endpoints", "token", "token-file", "tls", "ca", "timeout"}

// PrintUsage is cobra's usage function: it prints the call, examples, verbs by group, and flags.
func PrintUsage(c *cobra.Command) error {
	w := c.OutOrStderr()
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(w, "\n%s\n%s\n", title, text)
		}
	}
	fmt.Fprintln(w, "Usage:")
	if c.Runnable() {
		fmt.Fprintf(w, "  %s\n", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", c.CommandPath())
	}
	section("Examples:", c.Example)
	for _, g := range c.Groups() {
		section(g.Title, verbsOf(c, g.ID))
	}
	rest := "Commands:"
	if len(c.Groups()) > 0 {
		rest = "More:"
	}
	section(rest, verbsOf(c, ""))
	own, of := pflag.NewFlagSet("", pflag.ContinueOnError), pflag.NewFlagSet("", pflag.ContinueOnError)
	has := c.LocalFlags()
	has.VisitAll(func(f *pflag.Flag) {
		f = withPlainType(f)
		// These are connection flags only if the command has --endpoints too: serve has another --home and --ca.
		if slices.Contains(connectionFlags, f.Name) && has.Lookup("endpoints") != nil {
			of.AddFlag(f)
		} else {
			own.AddFlag(f)
		}
	})
	wide := widthOf(w)
	section("Flags:", own.FlagUsagesWrapped(wide))
	section("Connection flags:", of.FlagUsagesWrapped(wide))
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(w, "\n\"%s [command] --help\" says more about a command.\n", c.CommandPath())
	}
	return nil
}

// plainTypes maps pflag's names of Go types to words for help.
var plainTypes = map[string]string{"uint": "int", "uint16": "int", "uint32": "int", "uint64": "int", "float64": "number",
	"float64Slice": "numbers", "intSlice": "numbers", "uintSlice": "numbers", "stringArray": "string"}

// plainValue is a flag's value whose type has another name.
type plainValue struct {
	pflag.Value
	name string
}

// Type implements pflag.Value.
func (v plainValue) Type() string { return v.name }

// withPlainType returns a flag whose help names its type in a plain word.
func withPlainType(f *pflag.Flag) *pflag.Flag {
	name := plainTypes[f.Value.Type()]
	if name == "" {
		return f
	}
	plain := *f
	plain.Value = plainValue{f.Value, name}
	if plain.DefValue == "[]" {
		plain.DefValue = ""
	}
	return &plain
}

// verbsOf returns the help lines of the commands in a group.
func verbsOf(c *cobra.Command, group string) string {
	var b strings.Builder
	for _, s := range c.Commands() {
		if s.GroupID == group && (s.IsAvailableCommand() || s.Name() == "help") {
			fmt.Fprintf(&b, "  %-*s  %s\n", s.NamePadding(), s.Name(), s.Short)
		}
	}
	return b.String()
}
