package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
)

// topLog is how many applied entries stand below the table.
const topLog = 10

// lastEntries are what the node that is asked applied last, for people: never a memory's text. A token without admin may not see them, and reads why.
func (v *top) lastEntries(ctx context.Context, at string) []string {
	r, err := v.t.Fetch(ctx, fmt.Sprintf("%s%s?limit=%d", at, api.Log.Path(), topLog), http.Header{})
	if err != nil {
		return []string{"the log: " + err.Error()}
	}
	defer r.Close()
	var said []string
	for lines := bufio.NewScanner(r); len(said) < topLog && lines.Scan(); {
		var l api.LogLine
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return append(said, "the log: "+err.Error())
		}
		said = append(said, logText(l))
	}
	return said
}

// logText is an entry in one line.
func logText(l api.LogLine) string {
	var does []string
	for _, op := range l.Operations {
		does = append(does, strings.TrimSpace(op.Kind+" "+op.ID))
	}
	at := time.UnixMicro(int64(l.Time * 1e6)).Local().Format(time.TimeOnly)
	return fmt.Sprintf("%s  %-9d node %-3d %-12s %s", at, l.Index, l.Node, cli.OrDash(l.Database), strings.Join(does, ", "))
}

// topHelp is what ? shows.
const topHelp = `
WRITES/S, RECALLS/S  of the last interval; P50 and P99 beside them are how long each took
TO APPLY             acknowledged entries that the node has yet to apply
TO INDEX             entries that it has applied and not indexed
SLOW                 operations of the last interval that went to the slow log
STATE, DISK FREE     its files, and what its disk has left`
