package cli

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/node/api"
)

// completionTimeout bounds how long shell completion waits for a node.
const completionTimeout = time.Second

// A nameSource is a list operation whose rows contain names: its path, the field with the rows, and the field of a
// row.
type nameSource struct{ path, rows, field string }

var (
	databases = nameSource{api.Databases.Path(), "databases", "name"}
	entities  = nameSource{api.Entities.Path() + "?limit=1000", "entities", "name"}
)

// flagSources maps flags to the sources of their values.
var flagSources = map[string]nameSource{"db": databases, "database": databases,
	"namespace": {api.Namespaces.Path() + "?limit=1000", "namespaces", "name"}, "node-id": {api.Topology.Path(), "nodes", "node_id"}}

// argSources maps arguments, by their word in a command's Use, to the sources of their values.
var argSources = map[string]nameSource{"DB": databases, "DATABASE": databases, "ENTITY": entities, "SUBJECT": entities,
	"RID":      {api.Memories.Path(), "items", "rid"},
	"SESSION":  {api.Sessions.Path(), "sessions", "session_id"},
	"CONFLICT": {api.Conflicts.Path(), "conflicts", "conflict_id"}, "TRIGGER": {api.Triggers.Path(), "triggers", "trigger_id"},
	"TASK": {api.Tasks.Path(), "tasks", "id"}}

// CompleteNames adds shell completion for names that a node knows to the flags and arguments of a command and its
// subcommands.
func CompleteNames(c *cobra.Command) {
	for flag, names := range flagSources {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		err := c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return names.complete(c, begun)
		})
		if err != nil {
			panic("cli: " + err.Error()) // impossible: the flag exists and has no other completion
		}
	}
	if args := strings.Fields(c.Use)[1:]; c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && len(args) > 0 {
		c.ValidArgsFunction = func(c *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
			last := args[len(args)-1]
			if len(given) >= len(args) && !strings.HasSuffix(last, "...") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			word := strings.Trim(strings.TrimSuffix(args[min(len(given), len(args)-1)], "..."), "[]")
			names, known := argSources[word]
			if !known {
				if slices.Contains(fileArgs, word) {
					return nil, cobra.ShellCompDirectiveDefault
				}
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return names.complete(c, begun)
		}
	}
	for _, below := range c.Commands() {
		CompleteNames(below)
	}
}

// fileArgs lists the arguments that take files or directories.
var fileArgs = []string{"DIR", "PATH", "FILE", "BEFORE", "AFTER"}

// complete returns the names with the prefix begun; none if no node answers.
func (l nameSource) complete(c *cobra.Command, begun string) ([]string, cobra.ShellCompDirective) {
	t, err := typedTarget(c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if in := c.Flags().Lookup("db"); in != nil {
		t.Database = in.Value.String()
	}
	var answer map[string]json.RawMessage
	var rows []map[string]json.RawMessage
	if t.Get(c.Context(), "GET", t.WithDatabase(l.path), nil, &answer) != nil || json.Unmarshal(answer[l.rows], &rows) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, row := range rows {
		name := string(row[l.field])
		_ = json.Unmarshal(row[l.field], &name) // on an error, such as for a number, keep the raw JSON
		if strings.HasPrefix(name, begun) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
}

// typedTarget returns the target for the flags typed so far. Completion needs it because the command itself does not
// run.
func typedTarget(c *cobra.Command) (*Target, error) {
	t, flags := &Target{}, &cobra.Command{}
	t.Flags(flags)
	var err error
	flags.Flags().VisitAll(func(f *pflag.Flag) {
		if given := c.Flags().Lookup(f.Name); given != nil && given.Changed && err == nil {
			text := given.Value.String()
			if given.Value.Type() == "stringSlice" { // a list prints in brackets; do not strip those of an IPv6 address
				text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
			}
			err = flags.Flags().Set(f.Name, text)
		}
	})
	if err != nil {
		return nil, err
	}
	t.Timeout = completionTimeout
	return t, t.applyContext(flags)
}
