package mind

// sameShare is the share of the longer of two texts that stands at their beginning and end alike, from which they say
// the same but for one stretch.
const sameShare = .6

// SameFrame says whether two texts are the same but for one stretch, which is short. It compares bytes, so it costs
// next to nothing where they are not.
func SameFrame(a, b string) bool {
	n, longer, shorter := 0, max(len(a), len(b)), min(len(a), len(b))
	if shorter == 0 || longer > maxRead || float64(shorter) < sameShare*float64(longer) {
		return false
	}
	for n < shorter && a[n] == b[n] {
		n++
	}
	m := 0
	for m < shorter-n && a[len(a)-1-m] == b[len(b)-1-m] {
		m++
	}
	return a != b && float64(n+m) >= sameShare*float64(longer)
}
