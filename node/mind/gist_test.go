package mind

import (
	"strings"
	"testing"
)

// TestLikeness checks that statements about the same things are alike, in other forms of their words and in several
// languages.
func TestLikeness(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		one, other string
		asked      string
		alike      bool
	}{
		"other words around": {"The courier retries are turned on in staging.",
			"Retrying in courier is on in production after quiet weeks in staging.", "", true},
		"one word":            {"The offsite is in Ghent.", "Fleur books trains for the offsite.", "", false},
		"words of no meaning": {"This is what we do with it.", "That is what they have for us.", "", false},
		"German":              {"Die Rechnungen prüft Anna bis Freitag.", "Die Rechnung prüft jetzt Bert bis Montag.", "", true},
		"Chinese":             {"付款服务由安娜负责。", "付款服务现在由博尔负责。", "", true},
		"a name is asked for": {"Alice Smith works at Acme in Berlin.", "Bob Jones works at Acme in Berlin.",
			"Where does Alice work?", false},
		"another word is": {"Alice Smith works at Acme in Berlin.", "Bob Jones works at Acme in Berlin.", "Who works in Berlin?", true},
		"a document":      {strings.Repeat("The spare key is under the pot. ", 20), "The spare key is under the pot.", "", false},
	} {
		if like := GistOf(c.one).Likeness(GistOf(c.other), GistOf(c.asked)); like > 0 != c.alike {
			t.Errorf("%s: %.2f", name, like)
		}
	}
}

func BenchmarkGist(b *testing.B) {
	const text = "We agreed to drop support for the old XML feed on 1 September 2026. Six customers still use it, Halvorsen being the largest; Ines writes to each of them in January, again in April, and calls whoever hasn't answered by June."
	for b.Loop() {
		GistOf(text)
	}
}
