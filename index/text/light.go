package text

import "strings"

// light holds the stems of English words that are common in texts or questions of any kind and carry little meaning.
var light = func() map[string]bool {
	var st stemmer
	m := map[string]bool{}
	for w := range strings.FieldsSeq(`use get make go come take know think see want need like look give find tell say try feel
		become put keep let seem happen mean got gotten made gone went came taken took knew known thought saw seen gave given
		found told said tried felt became kept meant
		mention discuss describe explain talk ask share regard concern involve relate include
		new good great big old last long next same different many much specific various several certain current recent
		thing way kind sort lot people person one time first`) {
		m[st.stem(w)] = true
	}
	return m
}()

// Light reports whether a term is the stem of an English word that carries little meaning.
func Light(term string) bool { return light[term] }
