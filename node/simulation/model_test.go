package simulation

import (
	"fmt"
	"maps"
	"slices"

	"github.com/anishathalye/porcupine"
)

// model is one memory without any cluster: keys are apart, a number is what was set last, a thing that was added is
// there until it is taken, once, and never again.
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
		case "set":
			return true, in.value
		case "get":
			return out.value == have, have
		case "add":
			if have == absent {
				return true, present
			}
			return out.unknown, have // its id was taken: it cannot have been acknowledged
		default:
			was := 0
			if have == present {
				was = 1
				have = taken
			}
			return out.unknown || out.value == was, have
		}
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, " → ", output) },
}

const (
	absent = iota
	present
	taken
)
