package field

import "strings"

// Nearest is the name that was probably meant by one that is not known: at most two letters away, and no more than
// half of it; of several that are as near, one that begins alike. Of none that are near, the only one that has it as
// its first or last words, as new_text has text. Blank for none.
func Nearest(name string, names []string) (best string) {
	near := 3
	alike := func(n string) bool { return n != "" && name != "" && n[0] == name[0] }
	for _, n := range names {
		d := distance(name, n)
		if d <= 2 && 2*d <= len(name) && (d < near || d == near && alike(n) && !alike(best)) {
			best, near = n, d
		}
	}
	if best == "" && name != "" {
		return longer(name, names)
	}
	return best
}

// longer is the only name that begins or ends with all of a shorter one of four letters at least; blank for none, and
// for several. What is shorter, such as key, says too little.
func longer(name string, names []string) (found string) {
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

// distance counts the letters to add, drop or change; 3 stands for three and more.
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
