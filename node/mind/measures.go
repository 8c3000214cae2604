package mind

import "slices"

// measurePrepositions are words that may precede a measure. After other words a number may be part of a name: room 4,
// version 7.
var measurePrepositions = set("at of about every for around roughly nearly almost than least most only within under over until from")

// quantities holds the units of each quantity. A unit may measure several, as a pound does.
var quantities = []map[string]bool{
	stems("ms millisecond second minute hour day week month year"),
	stems("b kb mb gb tb kib mib gib tib byte kilobyte megabyte gigabyte terabyte"),
	stems("cent euro eur dollar usd pound gbp franc chf crown"),
	stems("mm cm m km inch foot feet metre meter mile kilometre kilometer"),
	stems("g kg gram kilo kilogram ounce pound tonne"),
}

// sameQuantity reports whether two units measure one quantity.
func sameQuantity(a, b string) bool {
	return slices.ContainsFunc(quantities, func(units map[string]bool) bool { return units[a] && units[b] })
}

// beginsWithMeasure reports whether ws, which follow front, begin with a measure: a number with a unit. A time of day
// is not a measure, because one thing may happen at several.
func beginsWithMeasure(front, ws []word) bool {
	if len(front) == 0 || len(ws) == 0 || !hasNumber(ws[0].raw) && !numerals[ws[0].lower] {
		return false
	}
	last := front[len(front)-1]
	return (measurePrepositions[last.lower] || isMultiValuedVerb(last)) && len(ws) > 1 && !isClockTime(ws[0].lower) && !hasNumber(ws[1].raw)
}

// sameMeasure reports whether one of two measures can replace the other: the words after the older number also follow
// the newer one.
func sameMeasure(newer, older []word) bool {
	if len(newer) < len(older) {
		return false
	}
	for i, w := range older[1:] {
		if next := newer[i+1].stem; w.stem != next && (i > 0 || !sameQuantity(w.stem, next)) {
			return false
		}
	}
	return len(older) > 1
}
