package bert

import "math"

// A table holds a vector for each token.
type table interface {
	// Row writes vector i to out, which is as long as one.
	Row(i int, out []float32)
}

// An int8Table holds a table's numbers in 8 bits, with a scale for each row.
type int8Table struct {
	numbers []int8
	scales  []float32
}

func quantize(t table, rows, width int) *int8Table {
	q := &int8Table{make([]int8, rows*width), make([]float32, rows)}
	row := make([]float32, width)
	for i := range rows {
		t.Row(i, row)
		var largest float32
		for _, x := range row {
			largest = max(largest, float32(math.Abs(float64(x))))
		}
		if largest == 0 {
			continue
		}
		q.scales[i] = largest / math.MaxInt8
		for k, x := range row {
			q.numbers[i*width+k] = int8(math.RoundToEven(float64(x / q.scales[i])))
		}
	}
	return q
}

// Row implements table.
func (q *int8Table) Row(i int, out []float32) {
	for k, n := range q.numbers[i*len(out):][:len(out)] {
		out[k] = float32(n) * q.scales[i]
	}
}
