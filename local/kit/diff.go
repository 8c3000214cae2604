package kit

// Change is a line of a diff. A zero line number means that the line is not in that text.
type Change struct {
	Old, New int
	Text     string
}

// Changes is a diff of two texts, including the common lines.
type Changes []Change

// diffCells bounds the table of common subsequences. A part that needs a larger table is shown as replaced.
const diffCells = 4 << 20

// Diff compares two texts. It matches the common lines at the beginning and the end, and the longest common
// subsequence between them.
func Diff(a, b []string) (out Changes) {
	pre, post := 0, 0
	for pre < len(a) && pre < len(b) && a[pre] == b[pre] {
		out = append(out, Change{pre + 1, pre + 1, a[pre]})
		pre++
	}
	for post < len(a)-pre && post < len(b)-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	x, y := a[pre:len(a)-post], b[pre:len(b)-post]
	lengths := lcsLengths(x, y)
	var deleted, added Changes // since the last common line; deleted lines are listed before added ones
	for i, j := 0, 0; i < len(x) || j < len(y); {
		switch {
		case lengths != nil && i < len(x) && j < len(y) && x[i] == y[j]:
			out = append(append(append(out, deleted...), added...), Change{pre + i + 1, pre + j + 1, x[i]})
			deleted, added, i, j = nil, nil, i+1, j+1
		case j == len(y) || i < len(x) && (lengths == nil || lengths[i+1][j] >= lengths[i][j+1]):
			deleted = append(deleted, Change{pre + i + 1, 0, x[i]})
			i++
		default:
			added = append(added, Change{0, pre + j + 1, y[j]})
			j++
		}
	}
	out = append(append(out, deleted...), added...)
	for k := range post {
		o, n := len(a)-post+k, len(b)-post+k
		out = append(out, Change{o + 1, n + 1, a[o]})
	}
	return out
}

// lcsLengths returns a table of the length of the longest common subsequence of x[i:] and y[j:], or nil if the table
// would be too large.
func lcsLengths(x, y []string) (left [][]int32) {
	if len(x)*len(y) > diffCells {
		return nil
	}
	left = make([][]int32, len(x)+1)
	left[len(x)] = make([]int32, len(y)+1)
	for i := len(x) - 1; i >= 0; i-- {
		left[i] = make([]int32, len(y)+1)
		for j := len(y) - 1; j >= 0; j-- {
			if left[i][j] = max(left[i+1][j], left[i][j+1]); x[i] == y[j] {
				left[i][j] = left[i+1][j+1] + 1
			}
		}
	}
	return left
}

// Near reports whether a line changed within context lines of line i.
func (c Changes) Near(i, context int) bool {
	for k := max(0, i-context); k <= min(len(c)-1, i+context); k++ {
		if c[k].Old == 0 || c[k].New == 0 {
			return true
		}
	}
	return false
}
