package agents

import (
	"cmp"
	"os"
	"slices"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// State is a tool as `cairn connect` lists it.
type State struct {
	Tool      string      `json:"tool"`
	Title     string      `json:"title"`
	Found     bool        `json:"found"` // on this machine
	Connected []Connected `json:"connected"`
}

// Connected is one configuration that has the memory.
type Connected struct {
	Project  string `json:"project,omitempty"` // blank: the user's own
	Endpoint string `json:"endpoint"`
	Whole    bool   `json:"whole"`   // all that was written is still there
	Waiting  int    `json:"waiting"` // captures in the spool
}

func list(s *cli.Streams, o *options) error {
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	base, err := dir()
	if err != nil {
		return err
	}
	var all []State
	for _, t := range tools() {
		st := State{Tool: t.name, Title: t.title, Found: t.found(site{home: home}), Connected: []Connected{}}
		list, err := records(base, t.name)
		if err != nil {
			return err
		}
		for _, r := range list {
			st.Connected = append(st.Connected,
				Connected{Project: r.Project, Endpoint: r.Endpoint, Whole: r.whole(), Waiting: r.spool().count()})
		}
		all = append(all, st)
	}
	if o.JSON {
		return s.JSON(all)
	}
	return cli.Rows(s.Out, rows(all), "TOOL|FOUND|CONNECTED TO|PROJECT|WAITING", func(r []any) []any { return r })
}

// rows has a row for each connection, and one for a tool without any.
func rows(all []State) (out [][]any) {
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

// whole reports whether all that was written is in the files.
func (r *record) whole() bool {
	return !slices.ContainsFunc(r.Entries, func(w written) bool {
		_, _, same, err := (&plan{}).find(w)
		return err != nil || !same
	})
}
