package simulation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// model describes one memory without any cluster. Keys are independent. A number has the value that was set last. A
// thing that was added is there until it is taken, once, and never again, and bears what was written on it last.
var model = porcupine.Model{
	Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, o := range ops {
			k := o.Input.(asked).key
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
		have, in, out := state.(int), input.(asked), output.(told)
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
			return out.unknown, have // its id was taken: it cannot have been acknowledged
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

// The states of a thing; a positive number means that this number is written on it.
const (
	absent  = 0
	present = -1 // and nothing is written on it
	taken   = -2
)
