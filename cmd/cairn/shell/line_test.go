package shell

import (
	"slices"
	"testing"
)

func TestWordsOfALine(t *testing.T) {
	for line, want := range map[string][]string{
		"":                           nil,
		"  recall  who ":             {"recall", "who"},
		`recall "who leads it?" -k3`: {"recall", "who leads it?", "-k3"},
		`remember 'it''s' ""`:        {"remember", "its", ""},
		`remember a\ b "say \"so\""`: {"remember", "a b", `say "so"`},
		`\c work`:                    {`\c`, "work"},
		"stats # how many":           {"stats"},
		"# nothing":                  nil,
		"get a#b":                    {"get", "a#b"},
	} {
		if got, err := Words(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", line, got, err)
		}
	}
	if _, err := Words(`recall "who`); err == nil {
		t.Error("a quote that is not closed was taken")
	}
}
