package text

import "testing"

func TestRefers(t *testing.T) {
	for text, want := range map[string]bool{
		"I've had them three years":      true,
		"They're called Oscar and Bella": true,
		"She’s been to Lisbon":           true,
		"(HIS) idea":                     true,
		"It was great, and that is that": false,
		"the theme of this hershey bar":  false,
		"":                               false,
	} {
		if got := Refers(text); got != want {
			t.Errorf("%q refers: %v, want %v", text, got, want)
		}
	}
}
