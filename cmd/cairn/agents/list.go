package agents

import (
	"cmp"
	"os"
	"slices"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// ToolState is the state of a tool in the list of `cairn connect`.
type ToolState struct {
	Tool      string       `json:"tool"`
	Title     string       `json:"title"`
	Found     bool         `json:"found"` // the tool is on this machine
	Connected []Connection `json:"connected"`
}

// Connection is a configuration that connects a tool.
type Connection struct {
	Project  string `json:"project,omitempty"` // blank: the user's configuration
	Endpoint string `json:"endpoint"`
	Whole    bool   `json:"whole"`   // all written entries are still there
	Waiting  int    `json:"waiting"` // captures in the spool
}

func list(s *cli.Streams, o *options) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	base, err := recordsDir()
	if err != nil {
		return err
	}
	var all []ToolState
	for _, t := range tools() {
		st := ToolState{Tool: t.name, Title: t.title, Found: t.found(target{home: home}), Connected: []Connection{}}
		list, err := records(base, t.name)
		if err != nil {
			return err
		}
		for _, r := range list {
			st.Connected = append(st.Connected,
				Connection{Project: r.Project, Endpoint: r.Endpoint, Whole: r.intact(), Waiting: r.spool().count()})
		}
		all = append(all, st)
	}
	if o.JSON {
		return s.JSON(all)
	}
	return cli.Rows(s.Out, rows(all), "TOOL|FOUND|CONNECTED TO|PROJECT|WAITING", func(r []any) []any { return r })
}

// rows returns a table row for each connection, and one for each tool without any.
func rows(all []ToolState) (out [][]any) {
	for _, t := range all {
		found := "no"
		if t.Found {
			found = "yes"
		}
		if len(t.Connected) == 0 {
			out = append(out, []any{t.Tool, found, "-", "-", "-"})
		}
		for _, c := range t.Connected {
			to := c.Endpoint
			if !c.Whole {
				to += " (changed since; connect again)"
			}
			out = append(out, []any{t.Tool, found, to, cmp.Or(c.Project, "-"), c.Waiting})
		}
	}
	return out
}

// intact reports whether all written entries are still in their files.
func (r *record) intact() bool {
	return !slices.ContainsFunc(r.Entries, func(w writtenEntry) bool {
		_, _, same, err := (&plan{}).find(w)
		return err != nil || !same
	})
}
