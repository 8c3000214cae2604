package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A Context is a named set of connection flags for a node or a cluster. It holds the path of a token file and never
// the token itself.
type Context struct {
	Home      string   `json:"home,omitempty"`
	Endpoints []string `json:"endpoints,omitempty"`
	TokenFile string   `json:"token_file,omitempty"`
	Database  string   `json:"db,omitempty"`
	TLS       bool     `json:"tls,omitempty"`
	CA        string   `json:"ca,omitempty"`
}

// Contexts is the content of a user's contexts file.
type Contexts struct {
	Current string             `json:"current,omitempty"` // used by commands that name no node; blank: none
	All     map[string]Context `json:"contexts"`

	path string
}

// OpenContexts reads the user's contexts from the file in CAIRN_CONTEXTS, or else from cairn/contexts.json in the
// user's configuration directory.
func OpenContexts() (c Contexts, err error) {
	if c.path = os.Getenv("CAIRN_CONTEXTS"); c.path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return c, nil // without a home directory a user has no contexts
		}
		c.path = filepath.Join(dir, "cairn", "contexts.json")
	}
	b, err := os.ReadFile(c.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, err
	}
	if len(b) > 0 {
		if err := json.Unmarshal(b, &c); err != nil {
			return c, Hint(fmt.Errorf("%s: %w", c.path, err), "correct the file, or remove it and add the contexts again")
		}
	}
	if c.All == nil {
		c.All = map[string]Context{}
	}
	return c, nil
}

// Save replaces the file atomically.
func (c Contexts) Save() error {
	if c.path == "" {
		return errors.New("no directory for contexts.json: set CAIRN_CONTEXTS to the path of a file")
	}
	if i, err := os.Stat(c.path); err == nil && !i.Mode().IsRegular() { // CAIRN_CONTEXTS=/dev/null disables contexts
		return fmt.Errorf("%s is not a regular file: set CAIRN_CONTEXTS to the path of one", c.path)
	}
	b, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(c.path), 0o700); err != nil {
		return err
	}
	return syncwriter.Replace(c.path, append(b, '\n'), 0o600)
}

// Dir returns the directory of the file; blank for a user without contexts.
func (c Contexts) Dir() string {
	if c.path == "" || c.path == os.DevNull {
		return ""
	}
	return filepath.Dir(c.path)
}

// Names returns the names of the contexts, sorted.
func (c Contexts) Names() []string { return slices.Sorted(maps.Keys(c.All)) }

// Lookup returns the context with a name; a usage error if there is none.
func (c Contexts) Lookup(name string) (Context, error) {
	x, ok := c.All[name]
	if !ok {
		return x, Usage(Hint(fmt.Errorf("no context %q", name), "`cairn context list` lists the contexts, `cairn context add` adds one"))
	}
	return x, nil
}

// CompleteContext is the shell completion for names of contexts.
func CompleteContext(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	c, err := OpenContexts()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return c.Names(), cobra.ShellCompDirectiveNoFileComp
}

// applyContext copies a context into the target: the one from --context; else, if no flag names a node, the one from
// CAIRN_CONTEXT; else, if the environment names no node either, the current one. A flag overrides the context's
// value.
func (t *Target) applyContext(c *cobra.Command) error {
	if t.Timeout <= 0 {
		return Usagef("--timeout: want a time above 0, such as 15s, got %s", t.Timeout)
	}
	given := c.Flags().Changed
	if !given("context") && (given("home") || given("endpoints")) {
		t.ContextName = ""
		return nil
	}
	name := t.ContextName
	if name == "" && cmp.Or(os.Getenv("CAIRN_HOME"), os.Getenv("CAIRN_ENDPOINTS")) != "" {
		return nil
	}
	all, err := OpenContexts()
	if err != nil {
		return err
	}
	if name = cmp.Or(name, all.Current); name == "" {
		return nil
	}
	x, err := all.Lookup(name)
	if err != nil {
		return err
	}
	if t.activeContext = name; !given("home") && !given("endpoints") {
		t.Home, t.Endpoints = cmp.Or(x.Home, t.Home), x.Endpoints
	}
	// A named context overrides the environment, which overrides the current context.
	environ := t.ContextName == "" && cmp.Or(os.Getenv("CAIRN_TOKEN"), os.Getenv("CAIRN_TOKEN_FILE")) != ""
	if !given("token") && !given("token-file") && !environ && x.TokenFile != "" {
		t.TokenFile = x.TokenFile
	}
	if !given("tls") && !given("ca") {
		t.TLS, t.CA = x.TLS, x.CA
	}
	if db := c.Flags().Lookup("db"); db != nil && !db.Changed {
		t.Database = x.Database
	}
	return nil
}
