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

// completeFor bounds how long a person who presses tab waits for a node.
const completeFor = time.Second

// listed are names that a node knows: a field of a list's rows.
type listed struct{ path, rows, field string }

var (
	databases = listed{api.Databases.Path(), "databases", "name"}
	entities  = listed{api.Entities.Path() + "?limit=1000", "entities", "name"}
)

// inFlags lists the sources of values for flags, by flag.
var inFlags = map[string]listed{"db": databases, "database": databases,
	"namespace": {api.Namespaces.Path() + "?limit=1000", "namespaces", "name"}, "node-id": {api.Topology.Path(), "nodes", "node_id"}}

// inArgs lists the sources of values for arguments, by their word in a verb's use.
var inArgs = map[string]listed{"DB": databases, "DATABASE": databases, "ENTITY": entities, "SUBJECT": entities,
	"RID":      {api.Memories.Path(), "items", "rid"},
	"SESSION":  {api.Sessions.Path(), "sessions", "session_id"},
	"CONFLICT": {api.Conflicts.Path(), "conflicts", "conflict_id"}, "TRIGGER": {api.Triggers.Path(), "triggers", "trigger_id"},
	"TASK": {api.Tasks.Path(), "tasks", "id"}}

// CompleteNames offers the names that a node knows to the flags and the arguments of a command and of those below it.
func CompleteNames(c *cobra.Command) {
	for flag, names := range inFlags {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		err := c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			return names.complete(c, begun)
		})
		if err != nil {
			panic("cli: " + err.Error()) // the flag is there and has no other
		}
	}
	if args := strings.Fields(c.Use)[1:]; c.ValidArgsFunction == nil && len(c.ValidArgs) == 0 && len(args) > 0 {
		c.ValidArgsFunction = func(c *cobra.Command, given []string, begun string) ([]string, cobra.ShellCompDirective) {
			last := args[len(args)-1]
			if len(given) >= len(args) && !strings.HasSuffix(last, "...") {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			word := strings.Trim(strings.TrimSuffix(args[min(len(given), len(args)-1)], "..."), "[]")
			names, known := inArgs[word]
			if !known {
				if slices.Contains(files, word) {
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

// files are the arguments that are files or directories.
var files = []string{"DIR", "PATH", "FILE", "BEFORE", "AFTER"}

// complete returns the names that begin with begun; none if no node answers.
func (l listed) complete(c *cobra.Command, begun string) ([]string, cobra.ShellCompDirective) {
	t, err := asked(c)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	if in := c.Flags().Lookup("db"); in != nil {
		t.Database = in.Value.String()
	}
	var answer map[string]json.RawMessage
	var rows []map[string]json.RawMessage
	if t.Get(c.Context(), "GET", t.In(l.path), nil, &answer) != nil || json.Unmarshal(answer[l.rows], &rows) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var all []string
	for _, row := range rows {
		name := string(row[l.field])
		_ = json.Unmarshal(row[l.field], &name) // a number stays as it is
		if strings.HasPrefix(name, begun) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
}

// asked returns the target that the flags typed so far name. The command itself does not run.
func asked(c *cobra.Command) (*Target, error) {
	t, flags := &Target{}, &cobra.Command{}
	t.Flags(flags)
	var err error
	flags.Flags().VisitAll(func(f *pflag.Flag) {
		if given := c.Flags().Lookup(f.Name); given != nil && given.Changed && err == nil {
			text := given.Value.String()
			if given.Value.Type() == "stringSlice" { // a list prints in brackets, and so does an IPv6 address, which is no list
				text = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
			}
			err = flags.Flags().Set(f.Name, text)
		}
	})
	if err != nil {
		return nil, err
	}
	t.Timeout = completeFor
	return t, t.enter(flags)
}
