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
	Begin  = "begin"  // Node: the number of nodes; Text: how to repeat the run
	Fault  = "fault"  // Text: a fault that was injected; for information
	Add    = "add"    // a request to add Value to the set Key
	Read   = "read"   // the set Key was read; Have: its numbers; Twice: those that occur more than once
	Write  = "write"  // a request to set the register Key to Value
	Get    = "get"    // the register Key was read; Value: 0 before the first write
	Close  = "close"  // no more requests for Key, and none in progress
	Final  = "final"  // the final content of Key on Node: Have and Twice, or Value
	Silent = "silent" // no write was acknowledged after the faults in Text
	End    = "end"    // Text: how the nodes' final states differ; blank if equal
)

// Outcomes of an add or a write.
const (
	Done    = ""        // acknowledged
	Unknown = "unknown" // it may have happened or may still happen
	Refused = "refused" // it has not happened and never will happen
)

// Consistency modes of reads.
const (
	Linearizable = "linearizable" // shows all writes acknowledged before the request
	AtIndex      = "index"        // shows all writes acknowledged at Index or before
	Stale        = "stale"        // shows the node's own state, which may be old
)

// A Record is a line of a history. Times are nanoseconds since it began.
type Record struct {
	Op      string `json:"op"`
	Key     string `json:"key,omitempty"`
	Client  int    `json:"client,omitempty"`
	Value   int    `json:"value,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	ID      string `json:"id,omitempty"`    // of an acknowledged add: the memory's id
	Index   uint64 `json:"index,omitempty"` // of an acknowledgement, or requested by a read
	Mode    string `json:"mode,omitempty"`
	Node    int    `json:"node,omitempty"`
	Life    int    `json:"life,omitempty"` // the process of the node that answered; 0: unknown
	From    int64  `json:"from,omitempty"`
	To      int64  `json:"to,omitempty"`
	Have    Bits   `json:"have,omitzero"`
	Twice   Bits   `json:"twice,omitzero"`
	Text    string `json:"text,omitempty"`
}

// Check checks a history.
func Check(in io.Reader) (*Verdict, error) {
	c := newChecker()
	for d, line := json.NewDecoder(bufio.NewReaderSize(in, 1<<16)), 1; ; line++ {
		var r Record
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return c.verdict(), nil
		}
		if err == nil {
			err = c.add(r)
		}
		if err != nil {
			return nil, fmt.Errorf("record %d of the history: %w", line, err)
		}
	}
}
