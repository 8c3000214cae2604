package main

import (
	"cmp"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

func contexts(s *cli.Streams) *cobra.Command {
	group := &cobra.Command{Use: "context", Short: "Names for nodes and clusters: add, use, list, remove",
		Long: `Names for nodes and clusters, so that verbs need no flags to find them: "cairn context add prod --endpoints a:7437,b:7437,c:7437
--token-file prod.token --ca ca.crt", then "cairn context use prod", or --context prod with any verb that asks a node.

The current context is used when neither flags nor the environment name a node (--home, --endpoints, CAIRN_HOME, CAIRN_ENDPOINTS).
Contexts are kept in cairn/contexts.json in your configuration directory, or in the file that CAIRN_CONTEXTS names; tokens are not.`}
	group.AddCommand(contextAdd(), contextList(s),
		contextChange("use NAME", "Make a context the current one", func(all *cli.Contexts, name string) { all.Current = name }),
		contextChange("remove NAME", "Remove a context; the nodes that it names stay as they are", func(all *cli.Contexts, name string) {
			delete(all.All, name)
			if all.Current == name {
				all.Current = ""
			}
		}))
	return group
}

func contextAdd() *cobra.Command {
	var x cli.Context
	c := &cobra.Command{Use: "add NAME", Short: "Add a context, or change one", Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if strings.TrimSpace(args[0]) == "" {
				return cli.Usagef("the name of a context must not be blank")
			}
			if x.Home == "" && len(x.Endpoints) == 0 {
				return cli.Usagef("context %q: give --home for a node on this machine, or --endpoints", args[0])
			}
			if err := cli.CheckEndpoints(x.Endpoints); err != nil {
				return err
			}
			for _, path := range []*string{&x.Home, &x.TokenFile, &x.CA} { // absolute, because contexts are used from any directory
				if *path == "" {
					continue
				}
				abs, err := filepath.Abs(*path)
				if err != nil {
					return err
				}
				*path = abs
			}
			return changeContexts(func(all *cli.Contexts) error {
				all.All[args[0]] = x
				return nil
			})
		}}
	f := c.Flags()
	f.StringVar(&x.Home, "home", "", "home of a node on this machine")
	f.StringSliceVar(&x.Endpoints, "endpoints", nil, "nodes, each by its wire port or its gateway, host:port or http://host:port")
	f.StringVar(&x.TokenFile, "token-file", "", "file with the token")
	f.StringVar(&x.Database, "db", "", "database; the token's own by default")
	f.BoolVar(&x.TLS, "tls", false, "speak TLS, trusting this system's authorities")
	f.StringVar(&x.CA, "ca", "", "speak TLS, trusting the authorities in this file")
	return c
}

// contextChange returns a verb that changes an existing context.
func contextChange(use, short string, change func(all *cli.Contexts, name string)) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.ExactArgs(1), ValidArgsFunction: cli.CompleteContext,
		RunE: func(_ *cobra.Command, args []string) error {
			return changeContexts(func(all *cli.Contexts) error {
				_, err := all.Lookup(args[0])
				change(all, args[0])
				return err
			})
		}}
}

func contextList(s *cli.Streams) *cobra.Command {
	return cli.WithJSON(&cobra.Command{Use: "list", Short: "List the contexts", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			all, err := cli.OpenContexts()
			if err != nil {
				return err
			}
			if cli.AsJSON(c) {
				return s.JSON(all)
			}
			return cli.List(s, false, all.Names(), "NAME|HOME|ENDPOINTS|DB", func(name string) []any {
				x, current := all.All[name], ""
				if name == all.Current {
					current = " *"
				}
				return []any{name + current, cmp.Or(x.Home, "-"), cmp.Or(strings.Join(x.Endpoints, ","), "-"), cmp.Or(x.Database, "-")}
			})
		}})
}

// changeContexts reads the user's contexts, changes and saves them.
func changeContexts(change func(*cli.Contexts) error) error {
	all, err := cli.OpenContexts()
	if err != nil {
		return err
	}
	if err := change(&all); err != nil {
		return err
	}
	return all.Save()
}
