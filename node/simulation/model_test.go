package simulation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// model describes a single memory without a cluster. Keys are independent. A number has the value that was set last.
// A thing exists from the time it is added until it is taken, once and for all, and has the mark that was written
// last.
var model = porcupine.Model{
	Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range ops {
			k := o.Input.(call).key
			by[k] = append(by[k], o)
		}
		var parts [][]porcupine.Operation
		for _, k := range slices.Sorted(maps.Keys(by)) {
			parts = append(parts, by[k])
		}
		return parts
	},
	Init: func() any { return 0 },
	Step: func(state, input, output any) (bool, any) {
		have, in, out := state.(int), input.(call), output.(reply)
		switch in.verb {
		case "swap", "both", "move", "peek":
			return stepPair(have, in, out)
		case "set":
			return true, in.value
		case "get", "look":
			return out.value == have, have
		case "add":
			if have == absent {
				return true, present
			}
			return out.unknown, have // the id exists already: the write cannot have been acknowledged
		case "mark":
			if have == absent || have == taken {
				return out.unknown, have
			}
			return true, in.value
		default:
			if have == absent || have == taken {
				return out.unknown || out.value == 0, have
			}
			return out.unknown || out.value == 1, taken
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " → ", output) },
}

// States of a thing. A positive number is the mark that is written on it.
const (
	absent  = 0
	present = -1 // without a mark
	taken   = -2
)
