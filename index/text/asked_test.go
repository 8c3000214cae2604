package text

import (
	"maps"
	"math/bits"
	"testing"
	"time"
)

// TestAskedOf: questions that were asked on Wednesday, 15 May 2024.
func TestAskedOf(t *testing.T) {
	now := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for question, want := range map[string]struct{ span, why, rest string }{
		"who leads payments":                           {},
		"May I go to the march":                        {},
		"you may go in 5":                              {},
		"who runs the Friday meeting":                  {},
		"what is the last day of the year":             {},
		"when is the next release":                     {},
		"what changed last week?":                      {"2024-05-06 2024-05-13", "from last week", "what changed ?"},
		"What happened yesterday":                      {"2024-05-14 2024-05-15", "from yesterday", "What happened"},
		"today":                                        {"2024-05-15 2024-05-16", "from today", ""},
		"the day before yesterday we met":              {"2024-05-13 2024-05-14", "from the day before yesterday", "we met"},
		"what did we decide last month":                {"2024-04-01 2024-05-01", "from last month", "what did we decide"},
		"who joined this year":                         {"2024-01-01 2025-01-01", "from this year", "who joined"},
		"what is due next week":                        {"2024-05-20 2024-05-27", "from next week", "what is due"},
		"who visited in the last year":                 {"2023-05-15 2024-05-16", "from the last year", "who visited in"},
		"decisions of the last 3 days":                 {"2024-05-12 2024-05-16", "from the last 3 days", "decisions of"},
		"what broke 3 days ago":                        {"2024-05-12 2024-05-13", "from 3 days ago", "what broke"},
		"what broke two weeks ago":                     {"2024-04-29 2024-05-06", "from two weeks ago", "what broke"},
		"where did we move from 4 years ago":           {"2020-01-01 2021-01-01", "from 4 years ago", "where did we move from"},
		"what was said the week before August 3, 2023": {"2023-08-03 2023-08-04", "from August 3, 2023", "what was said the week before"},
		"what broke a few weeks ago":                   {},
		"what changed since Monday":                    {"2024-05-13 9999-12-31", "since Monday", "what changed"},
		"what changed since last Wednesday":            {"2024-05-08 9999-12-31", "since last Wednesday", "what changed"},
		"what was said before yesterday":               {"1970-01-01 2024-05-14", "before yesterday", "what was said"},
		"news after last week":                         {"2024-05-13 9999-12-31", "after last week", "news"},
		"what did we decide in March":                  {"2024-03-01 2024-04-01", "from March", "what did we decide in"},
		"what did we decide in June":                   {"2023-06-01 2023-07-01", "from June", "what did we decide in"},
		"what happened on 3 June 2021?":                {"2021-06-03 2021-06-04", "from 3 June 2021", "what happened on ?"},
		"what happened on May 5th, 2020 and 2019":      {"2019-05-05 2019-05-06", "from 2019", "what happened on May 5th, 2020 and"},
		"on october 21st":                              {"2023-10-21 2023-10-22", "from october 21st", "on"},
		"the 2019 trip":                                {"2019-01-01 2020-01-01", "from 2019", "the trip"},
		"what happened on 2024-03-05":                  {"2024-03-05 2024-03-06", "from 2024-03-05", "what happened on"},
		"was war am 05.03.2024":                        {"2024-03-05 2024-03-06", "from 05.03.2024", "was war am"},
		"who joined since last year":                   {"2023-01-01 9999-12-31", "since last year", "who joined"},
		"who joined since 2023":                        {"2023-01-01 9999-12-31", "since 2023", "who joined"},
		"where was the office before March":            {"1970-01-01 2024-03-01", "before March", "where was the office"},
		"was hat sich letzte Woche geändert":           {"2024-05-06 2024-05-13", "from letzte Woche", "was hat sich geändert"},
		"was war vor drei Tagen":                       {"2024-05-12 2024-05-13", "from vor drei Tagen", "was war"},
		"cosa è cambiato la settimana scorsa":          {"2024-05-06 2024-05-13", "from settimana scorsa", "cosa è cambiato la"},
		"что изменилось на прошлой неделе":             {"2024-05-06 2024-05-13", "from прошлой неделе", "что изменилось на"},
	} {
		got := AskedOf(question, now)
		span := ""
		if got.Named() {
			span = time.UnixMicro(got.From).UTC().Format(time.DateOnly) + " " + time.UnixMicro(got.To).UTC().Format(time.DateOnly)
		}
		if span != want.span || got.Why != want.why || got.Rest != want.rest {
			t.Errorf("%q: got %q, %q, %q, want %q", question, span, got.Why, got.Rest, want)
		}
		if got.Since != (len(want.why) > 5 && want.why[:5] == "since") {
			t.Errorf("%q: since is %v", question, got.Since)
		}
		if a := AskedOf(question, 0); a.Relative {
			t.Errorf("%q: relative to an unknown moment: %+v", question, a)
		}
	}
}

func TestStops(t *testing.T) {
	for kind := range maps.Values(stops) {
		if kind >= 64 {
			t.Errorf("a kind of stop words is number %d, and has no bit", kind)
		}
	}
	if got, want := Stops("Who WAS I?"), Stops("i am")|Stops("whom"); got != want || bits.OnesCount64(got) != 3 {
		t.Errorf("got %b, want %b", got, want)
	}
	if got := Stops("Payments moved, 東京"); got != 0 {
		t.Errorf("got %b for a text without stop words", got)
	}
	for text, want := range map[string]bool{"who is it?": true, "who is Ada": false, "": true, "wer ist das": false} {
		if StopsAlone(text) != want {
			t.Errorf("%q: got %v", text, !want)
		}
	}
}
