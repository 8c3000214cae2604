package memory

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/pause"
)

const (
	reconnectPause = time.Second // before watch connects again

	// rejectionGrace bounds the retries of watch after a rejection once a connection was lost. A killed node that
	// restarts does not know tokens and databases newer than its last state flush until it has replayed its log.
	rejectionGrace = 30 * time.Second
)

// watch prints events until ctx ends. It reconnects when a connection is lost, but returns an error if the first
// attempt fails.
func watch(ctx context.Context, s *cli.Streams, t *cli.Target, path string) error {
	last, lost := "", time.Time{}
	for {
		at, err := resumePath(path, last)
		if err != nil {
			return err
		}
		r, err := t.Request(ctx, "GET", at, nil)
		if err == nil {
			var unseen error
			seen, failed := readEvents(r, func(e event) error { unseen = printEvent(s, t.JSON, e); return unseen })
			last, err = cmp.Or(seen, last), failed
			lost = time.Now()
			r.Close()
			if unseen != nil { // the output is closed: do not reconnect
				return unseen
			}
		} else if last == "" || cli.Status(err) != 0 && time.Since(lost) > rejectionGrace {
			return err
		}
		if ctx.Err() != nil {
			return nil
		}
		fmt.Fprintf(s.Err, "connection lost (%v), connecting again\n", cmp.Or(err, io.ErrUnexpectedEOF))
		if pause.For(ctx, reconnectPause) != nil {
			return nil
		}
	}
}

// resumePath returns the path of a subscription that continues after the event with the id last.
func resumePath(path, last string) (string, error) {
	if last == "" {
		return path, nil
	}
	u, err := url.Parse(path)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("from", last)
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// An event is a server-sent event of the gateway.
type event struct {
	Name string          `json:"event"`
	ID   string          `json:"id,omitempty"` // position to resume after; blank if more events of the same log record follow
	Data json.RawMessage `json:"data"`
}

// startIndex returns the log index at which the subscription begins, from the first event; blank for other events.
func (e event) startIndex() string {
	var at struct{ Index uint64 }
	if e.Name != "subscribed" || json.Unmarshal(e.Data, &at) != nil || at.Index == 0 {
		return ""
	}
	return strconv.FormatUint(at.Index, 10)
}

// readEvents calls tell with each event of a stream. It returns the position to resume after.
func readEvents(r io.Reader, tell func(event) error) (last string, err error) {
	var e event
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		name, text, _ := strings.Cut(sc.Text(), ": ")
		switch name {
		case "id":
			e.ID = text
		case "event":
			e.Name = text
		case "data":
			e.Data = json.RawMessage(text)
		case "":
			if e.Name == "" {
				continue // a keep-alive
			}
			if err := tell(e); err != nil {
				return last, err
			}
			last, e = cmp.Or(e.ID, e.startIndex(), last), event{}
		}
	}
	return last, sc.Err()
}

func printEvent(s *cli.Streams, asJSON bool, e event) error {
	if asJSON {
		return s.JSONLine(e)
	}
	_, err := fmt.Fprintf(s.Out, "%-8s  %-16s %s\n", cmp.Or(e.ID, "-"), e.Name, e.Data)
	return err
}
