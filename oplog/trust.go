package oplog

import "slices"

// The classes of trust in a text, by who wrote it.
const (
	TrustOperator = "operator" // an administrator of the database
	TrustAgent    = "agent"
	TrustTool     = "tool" // output of a program
	TrustWeb      = "web"  // possibly written by a stranger
)

// TrustClasses are the classes, the most trusted first.
var TrustClasses = []string{TrustOperator, TrustAgent, TrustTool, TrustWeb}

// A Stamp says who wrote a text, and how far that writer is trusted. The door sets it. A client names its agent and
// may lower its class, and says nothing else of it.
type Stamp struct {
	Writer  string `msgpack:"wr,omitempty" max:"name"` // label of the token, or who the caller is without one
	Dialect string `msgpack:"wd,omitempty" max:"name"` // the protocol that it came by
	Agent   string `msgpack:"wa,omitempty" max:"name"` // as the client names it
	Trust   string `msgpack:"wt,omitempty" max:"name"` // one of TrustClasses; blank: agent
}

// An Approval says who corrects a memory, and whether that lets it out of quarantine.
type Approval struct {
	Stamp        // without a class the memory keeps its own, whatever the text says
	Release bool `msgpack:"q,omitempty"` // it comes with the text, for its words are read now
}

// TrustOf returns the effective class of a text: agent for a blank one, and web, the lowest, for an unknown one.
func TrustOf(class string) string {
	switch {
	case class == "":
		return TrustAgent
	case !slices.Contains(TrustClasses, class):
		return TrustWeb
	}
	return class
}

// TrustBelow returns how many steps a class is below another; 0 if it is not below.
func TrustBelow(class, higher string) int {
	return max(0, slices.Index(TrustClasses, TrustOf(class))-slices.Index(TrustClasses, TrustOf(higher)))
}

// LowestTrust returns the lower of two classes.
func LowestTrust(a, b string) string {
	if TrustBelow(a, b) > 0 {
		return TrustOf(a)
	}
	return TrustOf(b)
}

// Quarantines reports whether a policy quarantines texts of a class: a policy names the highest class that it
// quarantines. A blank policy quarantines none.
func Quarantines(policy, class string) bool {
	return policy != "" && TrustBelow(policy, class) == 0
}
