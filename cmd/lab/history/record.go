package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The kinds of records.
const (
	Begin  = "begin"  // Node nodes, and in Text how the run can be repeated
	Fault  = "fault"  // a fault that was made in the cluster, named in Text; it changes no judgement
	Add    = "add"    // Value was to be put into the set Key
	Read   = "read"   // the set Key was read: Have, and of those Twice
	Write  = "write"  // the register Key was to be Value
	Get    = "get"    // the register Key was read: Value, 0 before the first write
	Close  = "close"  // nothing is asked of Key any more, and nothing is under way
	Final  = "final"  // the content of Key on Node in the end: Have and Twice, or Value
	Silent = "silent" // no write was acknowledged any more, though the faults were over; Text says after which
	End    = "end"    // Text says how the states differ that the nodes have in the end; empty when they are equal
)

// Outcomes of an add or a write.
const (
	Done    = ""        // it was acknowledged
	Unknown = "unknown" // it may have happened, and may still
	Refused = "refused" // it has not happened and never will
)

// How new a read is.
const (
	Linearizable = "linearizable" // all that was acknowledged before it was asked
	AtIndex      = "index"        // all that was acknowledged at Index or before
	Stale        = "stale"        // the node's own state, however old
)

// A Record is a line of a history. Times are nanoseconds since it began.
type Record struct {
	Op      string `json:"op"`
	Key     string `json:"key,omitempty"`
	Client  int    `json:"client,omitempty"`
	Value   int    `json:"value,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	ID      string `json:"id,omitempty"`    // of an add that was acknowledged: what the node calls it
	Index   uint64 `json:"index,omitempty"` // of an acknowledgement, or what a read requested
	Mode    string `json:"mode,omitempty"`
	Node    int    `json:"node,omitempty"`
	Life    int    `json:"life,omitempty"` // which of the node's processes answered; 0 when that is not sure
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to,omitempty"`
	Have    Bits   `json:"have,omitzero"`
	Twice   Bits   `json:"twice,omitzero"`
	Text    string `json:"text,omitempty"`
}

// Check judges a history.
func Check(in io.Reader) (*Verdict, error) {
	c := newChecker()
	for d, line := json.NewDecoder(bufio.NewReaderSize(in, 1<<16)), 1; ; line++ {
		var r Record
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return c.verdict(), nil
		}
		if err == nil {
			err = c.take(r)
		}
		if err != nil {
			return nil, fmt.Errorf("record %d of the history: %w", line, err)
		}
	}
}
