package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// completeFor bounds how long a person who presses tab waits for a node.
const completeFor = time.Second

// named is what flags take that a node knows the names of, by flag.
var named = map[string]func(context.Context, *Target) ([]string, error){
	"db":        databases,
	"database":  databases,
	"namespace": namespaces,
	"node-id":   nodeIDs,
}

// CompleteNames offers the names that a node knows to the flags of a command and of those below it.
func CompleteNames(c *cobra.Command) {
	for flag, names := range named {
		if c.Flags().Lookup(flag) == nil {
			continue
		}
		err := c.RegisterFlagCompletionFunc(flag, func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
			t, err := asked(c)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			all, err := names(c.Context(), t)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			all = slices.DeleteFunc(all, func(s string) bool { return !strings.HasPrefix(s, begun) })
			slices.Sort(all)
			return slices.Compact(all), cobra.ShellCompDirectiveNoFileComp
		})
		if err != nil {
			panic("cli: " + err.Error()) // the flag is there and has no other
		}
	}
	for _, below := range c.Commands() {
		CompleteNames(below)
	}
}

// asked is the target that the flags of a command name so far. The command itself does not run.
func asked(c *cobra.Command) (*Target, error) {
	t, flags := &Target{}, &cobra.Command{}
	t.Flags(flags)
	var err error
	flags.Flags().VisitAll(func(f *pflag.Flag) {
		if given := c.Flags().Lookup(f.Name); given != nil && given.Changed && err == nil {
			err = flags.Flags().Set(f.Name, strings.Trim(given.Value.String(), "[]"))
		}
	})
	if err != nil {
		return nil, err
	}
	t.Timeout = completeFor
	return t, t.enter(flags)
}

func databases(ctx context.Context, t *Target) (names []string, err error) {
	var list struct {
		Databases []struct{ Name string }
	}
	err = t.Get(ctx, "GET", "/v1/databases", nil, &list)
	for _, d := range list.Databases {
		names = append(names, d.Name)
	}
	return names, err
}

func namespaces(ctx context.Context, t *Target) (names []string, err error) {
	var page struct {
		Namespaces []struct{ Name string }
	}
	err = t.Get(ctx, "GET", "/v1/namespaces?limit=1000", nil, &page)
	for _, n := range page.Namespaces {
		names = append(names, n.Name)
	}
	return names, err
}

func nodeIDs(ctx context.Context, t *Target) (ids []string, err error) {
	var list struct {
		Nodes []struct {
			ID uint32 `json:"node_id"`
		}
	}
	err = t.Get(ctx, "GET", "/v1/cluster/topology", nil, &list)
	for _, n := range list.Nodes {
		ids = append(ids, strconv.FormatUint(uint64(n.ID), 10))
	}
	return ids, err
}
