package text

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// symbol emits an emoji or other symbol; two regional indicators are one flag.
func (a *analyzer) symbol(i int, r rune, n int) int {
	end := i + n
	if isRegional(r) && end < len(a.text) {
		if next, m := a.rune(end); isRegional(next) {
			end += m
		}
	}
	a.push(strings.ToLower(norm.NFKC.String(a.text[i:end])), i, end, false)
	return end
}

// grams emits a run of a script written without spaces as overlapping pairs of
// characters, and for texts the single characters as extras.
func (a *analyzer) grams(start int, class class) int {
	end := start
	for end < len(a.text) {
		r, n := a.rune(end)
		if c := classOf(r); c != class && c != classIgnored && !unicode.Is(unicode.M, r) {
			break
		}
		end += n
	}
	units := a.units(start, end)
	if len(units) == 1 {
		a.push(units[0].term, units[0].start, units[0].end, false)
		return end
	}
	for i, u := range units {
		if a.counted >= MaxTokens {
			break
		}
		if !a.query {
			a.push(u.term, u.start, u.end, true)
		}
		if i+1 < len(units) {
			a.push(u.term+units[i+1].term, u.start, units[i+1].end, false)
		}
	}
	return end
}

type unit struct {
	term       string
	start, end int
}

// units cuts a run into characters with their marks, each folded by itself.
func (a *analyzer) units(start, end int) []unit {
	var us []unit
	for i := start; i < end; {
		r, n := a.rune(i)
		switch {
		case classOf(r) == classIgnored:
		case len(us) > 0 && (unicode.Is(unicode.M, r) || isVoicing(r) || isJamoEnd(r)):
			us[len(us)-1].end = i + n
		default:
			us = append(us, unit{start: i, end: i + n})
		}
		i += n
	}
	for i := range us {
		raw := a.text[us[i].start:us[i].end]
		if strings.ContainsFunc(raw, isIgnored) {
			raw = strings.Map(visible, raw)
		}
		us[i].term = strings.ToLower(norm.NFKC.String(raw))
	}
	return us
}

// visible drops the characters that are ignored, as strings.Map wants it.
func visible(r rune) rune {
	if isIgnored(r) {
		return -1
	}
	return r
}
