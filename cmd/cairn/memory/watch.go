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
	reconnectPause = time.Second // how long watch waits before it connects again

	// refusedFor is for how long a rejection is not believed after a connection was lost: a node that was killed and
	// starts again knows neither tokens nor databases that are younger than the last flush of its state, until it has
	// applied its log.
	refusedFor = 30 * time.Second
)

// watch prints events until ctx ends. A node that is gone later than at the first try is asked again.
func watch(ctx context.Context, s *cli.Streams, t *cli.Target, path string) error {
	last, lost := "", time.Time{}
	for {
		at, err := resumed(path, last)
		if err != nil {
			return err
		}
		r, err := t.Request(ctx, "GET", at, nil)
		if err == nil {
			var unseen error
			seen, failed := events(r, func(e event) error { unseen = show(s, t.JSON, e); return unseen })
			last, err = cmp.Or(seen, last), failed
			lost = time.Now()
			r.Close()
			if unseen != nil { // nobody gets what is shown: another connection helps nothing
				return unseen
			}
		} else if last == "" || cli.Status(err) != 0 && time.Since(lost) > refusedFor {
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

// resumed is the path of a subscription that goes on behind an event.
func resumed(path, last string) (string, error) {
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

// An event is one of the stream, as the gateway writes it.
type event struct {
	Name string          `json:"event"`
	ID   string          `json:"id,omitempty"` // to resume behind; blank while more of the same log record follows
	Data json.RawMessage `json:"data"`
}

// begins returns the index at which the subscription begins in the log, which the first event reports; blank for other
// events.
func (e event) begins() string {
	var at struct{ Index uint64 }
	if e.Name != "subscribed" || json.Unmarshal(e.Data, &at) != nil || at.Index == 0 {
		return ""
	}
	return strconv.FormatUint(at.Index, 10)
}

// events tells the events of a stream, and returns the id of the last that had one.
func events(r io.Reader, tell func(event) error) (last string, err error) {
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
				continue // a sign of life
			}
			if err := tell(e); err != nil {
				return last, err
			}
			last, e = cmp.Or(e.ID, e.begins(), last), event{}
		}
	}
	return last, sc.Err()
}

func show(s *cli.Streams, asJSON bool, e event) error {
	if asJSON {
		return s.JSONLine(e)
	}
	_, err := fmt.Fprintf(s.Out, "%-8s  %-16s %s\n", cmp.Or(e.ID, "-"), e.Name, e.Data)
	return err
}
