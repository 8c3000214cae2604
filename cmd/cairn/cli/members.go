package cli

import (
	"fmt"
	"strings"

	"github.com/cairndb/cairn/node/api"
)

// Voters counts a cluster's voters; with answering only the reachable ones.
func Voters(s *api.ClusterStatus, answering bool) (n int) {
	for _, p := range s.Members() {
		if p.Voter && (p.Reachable || !answering) {
			n++
		}
	}
	return n
}

// Size formats a number of bytes as MB, GB or TB.
func Size(n int64) string {
	for _, unit := range []string{"MB", "GB"} {
		if n < 1e9 {
			return fmt.Sprintf("%.1f %s", float64(n)/1e6, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%.1f TB", float64(n)/1e6)
}

// Damage describes damage that a node found, and its repair, for users.
type Damage struct {
	Text, Repair string // sentences; Text follows the node's name
	Healed       bool
}

// DamageOf groups a node's reports of damage by kind and database.
func DamageOf(files []api.Damage) (all []Damage) {
	for len(files) > 0 {
		first, n := files[0], 0
		var names []string
		for n < len(files) && files[n].Kind == first.Kind && files[n].Database == first.Database && files[n].Heals == first.Heals {
			times := "once"
			if files[n].Times > 1 {
				times = fmt.Sprint(files[n].Times, " times")
			}
			names = append(names, fmt.Sprintf("%s (%s)", files[n].File, times))
			n++
		}
		of := first.Kind
		if first.Database != "" {
			of += " of database " + first.Database
		}
		all = append(all, Damage{fmt.Sprintf("found damage in its %s: %s", of, strings.Join(names, ", ")), first.Heals, first.Healed})
		files = files[n:]
	}
	return all
}
