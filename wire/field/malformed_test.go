package field

import (
	"encoding/json"
	"testing"
)

// TestMalformed: errors about undecodable JSON are readable and name the field, if there is one.
func TestMalformed(t *testing.T) {
	var to struct {
		Name  string
		Pin   bool
		Size  int
		Score float64
		Tags  []string
		Meta  map[string]any
	}
	for text, want := range map[string]string{
		`{"name":`:       "body is not a JSON object: malformed at byte 8",
		`[1]`:            "body is not a JSON object: got a list",
		`{"name":5}`:     "Name: want a string, got a number",
		`{"pin":"yes"}`:  "Pin: want true or false, got a string",
		`{"size":1.5}`:   "Size: want a whole number, got number 1.5",
		`{"score":true}`: "Score: want a number, got true or false",
		`{"tags":"x"}`:   "Tags: want a list, got a string",
		`{"meta":[]}`:    "Meta: want an object, got a list",
	} {
		if got := Malformed("body is not a JSON object", json.Unmarshal([]byte(text), &to)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
