package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// operate prints what operators see: limits, usage, audit rows, and the kinds that a member must read.
func (e *scriptEnv) operate(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	if err := e.s.Read(func(v *View) error {
		l := v.Limits()
		for _, hash := range slices.Sorted(maps.Keys(l.Tokens)) {
			fmt.Fprintf(&b, "token %.6s: %+v\n", hash, l.Tokens[hash])
		}
		for _, db := range slices.Sorted(maps.Keys(l.Databases)) {
			fmt.Fprintf(&b, "database %d: %+v\n", db, l.Databases[db])
		}
		for _, tok := range v.Tokens() {
			if at := v.TokenUsed(tok.Hash); at != 0 {
				fmt.Fprintf(&b, "token %.6s used at %d\n", tok.Hash, at)
			}
		}
		for _, r := range v.Audits(3) {
			fmt.Fprintf(&b, "%d: %+v\n", r.Index, r.Audit)
		}
		fmt.Fprintf(&b, "needs: %s\n", v.NeededKinds())
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
