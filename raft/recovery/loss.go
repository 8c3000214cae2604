package recovery

import (
	"fmt"
	"strings"
)

// A LossError lists the records that a node that is alone has lost.
type LossError struct {
	Lost  []Span // records that were in the log, but are in no file
	After uint64 // if Open: records after this one may be lost as well
	Open  bool   // the end of the log is unknown
	Cause error  // the damage
}

// A Span is a range of records, both ends included.
type Span struct{ First, Last uint64 }

func (s Span) String() string {
	if s.First == s.Last {
		return fmt.Sprint(s.First)
	}
	return fmt.Sprintf("%d-%d", s.First, s.Last)
}

// Ranges returns a list of the lost records: "812-840, 901, any from 951 on".
func (e *LossError) Ranges() string {
	var all []string
	for _, s := range e.Lost {
		all = append(all, s.String())
	}
	if e.Open {
		all = append(all, fmt.Sprintf("any from %d on", e.After+1))
	}
	return strings.Join(all, ", ")
}

func (e *LossError) Error() string {
	return fmt.Sprintf("records lost: %s; no file of this node has them: %v", e.Ranges(), e.Cause)
}

func (e *LossError) Unwrap() error { return e.Cause }
