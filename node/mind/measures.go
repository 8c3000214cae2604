package mind

import "strings"

// measurePrepositions are words that may precede a measure. After other words a number may be part of a name: room 4,
// version 7.
var measurePrepositions = set("at of about every for around roughly nearly almost than least most only within under over until from")

// dimensions maps a unit to the quantity that it measures.
var dimensions = func() map[string]string {
	by := map[string]string{}
	for of, units := range map[string]string{
		"time":   "ms millisecond second minute hour day week month year",
		"memory": "b kb mb gb tb kib mib gib tib byte kilobyte megabyte gigabyte terabyte",
		"money":  "cent euro eur dollar usd pound gbp franc chf crown",
		"length": "mm cm m km inch foot feet metre meter mile kilometre kilometer",
		"weight": "g kg gram kilo kilogram ounce pound tonne",
	} {
		for unit := range strings.FieldsSeq(units) {
			by[stem(unit)] = of
		}
	}
	return by
}()

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
		unit := dimensions[w.stem]
		if w.stem != newer[i+1].stem && (i > 0 || unit == "" || unit != dimensions[newer[i+1].stem]) {
			return false
		}
	}
	return len(older) > 1
}
