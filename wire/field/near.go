package field

import "strings"

// Nearest returns the name most similar to an unknown one, or blank. The edit distance is at most two, and at most about
// a third of the unknown name's length. Among equally near names it prefers one with the same first letter. If none is
// near, it returns the only name that begins or ends with the unknown one, such as new_text for text.
func Nearest(name string, names []string) (best string) {
	near := 3
	alike := func(n string) bool { return n != "" && name != "" && n[0] == name[0] }
	for _, n := range names {
		d := distance(name, n)
		if d <= 2 && 3*d <= len(name)+1 && (d < near || d == near && alike(n) && !alike(best)) {
			best, near = n, d
		}
	}
	if best == "" && name != "" {
		return onlyLongerName(name, names)
	}
	return best
}

// onlyLongerName returns the only name that begins or ends with a given one; blank if there are none or several, or
// if the given name has fewer than four letters.
func onlyLongerName(name string, names []string) (found string) {
	if len(name) < 4 {
		return ""
	}
	for _, n := range names {
		if strings.HasPrefix(n, name+"_") || strings.HasSuffix(n, "_"+name) || strings.HasPrefix(n, name+"-") ||
			strings.HasSuffix(n, "-"+name) {
			if found != "" {
				return ""
			}
			found = n
		}
	}
	return found
}

// distance returns the edit distance of two names in bytes. 3 means three or more.
func distance(a, b string) int {
	if a, b = clip(a), clip(b); max(len(a), len(b))-min(len(a), len(b)) > 2 {
		return 3
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
