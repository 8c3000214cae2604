package mind

import "strings"

// before are the words that stand before a measure. Behind others a number may be a name: room 4, version 7.
var before = set("at of about every for around roughly nearly almost than least most only within under over until from")

// dimensions are the units in which one thing can be measured, by what they measure.
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

// measures reports whether words that follow others begin with a measure: a number with its unit. A time of day is
// none: something may happen at several.
func measures(front, ws []word) bool {
	if len(front) == 0 || len(ws) == 0 || !hasNumber(ws[0].raw) && !numerals[ws[0].lower] {
		return false
	}
	last := front[len(front)-1]
	return (before[last.lower] || isPlural(last)) && len(ws) > 1 && !clock(ws[0].lower) && !hasNumber(ws[1].raw)
}

// sameMeasure reports whether of two measures, of the same thing as far as their texts say, one can replace the
// other: what stands behind the older one stands behind the newer one too.
func sameMeasure(in, out []word) bool {
	if len(in) < len(out) {
		return false
	}
	for i, w := range out[1:] {
		unit := dimensions[w.stem]
		if w.stem != in[i+1].stem && (i > 0 || unit == "" || unit != dimensions[in[i+1].stem]) {
			return false
		}
	}
	return len(out) > 1
}
