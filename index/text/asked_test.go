package text

import (
	"maps"
	"math/bits"
	"strings"
	"testing"
	"time"
)

// TestAskedOf checks which days questions refer to that are asked on Wednesday, 15 May 2024.
func TestAskedOf(t *testing.T) {
	now := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for question, want := range map[string]struct{ span, why, rest string }{
		"who leads payments":                             {},
		"May I go to the march":                          {},
		"you may go in 5":                                {},
		"who runs the Friday meeting":                    {},
		"what is the last day of the year":               {},
		"when is the next release":                       {},
		"what changed last week?":                        {"2024-05-06 2024-05-13", "from last week", "what changed ?"},
		"What happened yesterday":                        {"2024-05-14 2024-05-15", "from yesterday", "What happened"},
		"today":                                          {"2024-05-15 2024-05-16", "from today", ""},
		"the day before yesterday we met":                {"2024-05-13 2024-05-14", "from the day before yesterday", "we met"},
		"what did we decide last month":                  {"2024-04-01 2024-05-01", "from last month", "what did we decide"},
		"who joined this year":                           {"2024-01-01 2025-01-01", "from this year", "who joined"},
		"what is due next week":                          {"2024-05-20 2024-05-27", "from next week", "what is due"},
		"who visited in the last year":                   {"2023-05-15 2024-05-16", "from the last year", "who visited in"},
		"decisions of the last 3 days":                   {"2024-05-12 2024-05-16", "from the last 3 days", "decisions of"},
		"what broke 3 days ago":                          {"2024-05-12 2024-05-13", "from 3 days ago", "what broke"},
		"what broke two weeks ago":                       {"2024-04-29 2024-05-06", "from two weeks ago", "what broke"},
		"where did we move from 4 years ago":             {"2020-01-01 2021-01-01", "from 4 years ago", "where did we move from"},
		"what was said the week before August 3, 2023":   {"2023-08-03 2023-08-04", "from August 3, 2023", "what was said the week before"},
		"what broke a few weeks ago":                     {},
		"what changed since Monday":                      {"2024-05-13 9999-12-31", "since Monday", "what changed"},
		"what changed since last Wednesday":              {"2024-05-08 9999-12-31", "since last Wednesday", "what changed"},
		"what was said before yesterday":                 {"1970-01-01 2024-05-14", "before yesterday", "what was said"},
		"news after last week":                           {"2024-05-13 9999-12-31", "after last week", "news"},
		"what did we decide in March":                    {"2024-03-01 2024-04-01", "from March", "what did we decide in"},
		"what did we decide in June":                     {"2023-06-01 2023-07-01", "from June", "what did we decide in"},
		"what happened on 3 June 2021?":                  {"2021-06-03 2021-06-04", "from 3 June 2021", "what happened on ?"},
		"what happened on May 5th, 2020 and 2019":        {"2019-05-05 2019-05-06", "from 2019", "what happened on May 5th, 2020 and"},
		"on october 21st":                                {"2023-10-21 2023-10-22", "from october 21st", "on"},
		"what changed from March to May":                 {"2024-03-01 2024-06-01", "from March to May", "what changed"},
		"what changed between January and March?":        {"2024-01-01 2024-04-01", "between January and March", "what changed ?"},
		"who left from November to February":             {"2023-11-01 2024-03-01", "from November to February", "who left"},
		"who left from November 2021 to February":        {"2021-11-01 2022-03-01", "from November 2021 to February", "who left"},
		"who left between June and August 2021":          {"2021-06-01 2021-09-01", "between June and August 2021", "who left"},
		"who left between 2019 and 2021":                 {"2019-01-01 2022-01-01", "between 2019 and 2021", "who left"},
		"what broke from the 3rd to the 5th of March":    {"2024-03-03 2024-03-06", "from the 3rd to the 5th of March", "what broke"},
		"qué pasó el 5 de marzo de 2022":                 {"2022-03-05 2022-03-06", "from 5 de marzo de 2022", "qué pasó el"},
		"what broke from 3 to 5 March 2022":              {"2022-03-03 2022-03-06", "from 3 to 5 March 2022", "what broke"},
		"what broke from 2024-02-27 to 2024-03-02":       {"2024-02-27 2024-03-03", "from 2024-02-27 to 2024-03-02", "what broke"},
		"revenue of April–June 2023":                     {"2023-04-01 2023-07-01", "from April–June 2023", "revenue of"},
		"revenue 2019-2021":                              {"2019-01-01 2022-01-01", "from 2019-2021", "revenue"},
		"was geschah zwischen Januar und März":           {"2024-01-01 2024-04-01", "zwischen Januar und März", "was geschah"},
		"qué pasó entre enero y marzo de 2022":           {"2022-01-01 2022-04-01", "entre enero y marzo de 2022", "qué pasó"},
		"what happened over the past two weeks":          {"2024-05-01 2024-05-16", "from the past two weeks", "what happened over"},
		"decisions of the previous month":                {"2024-04-01 2024-05-01", "from the previous month", "decisions of"},
		"what did we decide this afternoon?":             {"2024-05-15 2024-05-16", "from this afternoon", "what did we decide ?"},
		"revenue in Q1 2024":                             {"2024-01-01 2024-04-01", "from Q1 2024", "revenue in"},
		"revenue in Q3":                                  {"2023-07-01 2023-10-01", "from Q3", "revenue in"},
		"who left last quarter":                          {"2024-01-01 2024-04-01", "from last quarter", "who left"},
		"what broke in the last few days":                {"2024-05-10 2024-05-16", "from the last few days", "what broke in"},
		"what broke a couple of days ago":                {"2024-05-13 2024-05-14", "from a couple of days ago", "what broke"},
		"what broke the week before last":                {"2024-04-29 2024-05-06", "from the week before last", "what broke"},
		"what broke in the last 24 hours":                {"2024-05-14T21:30 2024-05-16", "from the last 24 hours", "what broke in"},
		"what broke in the last 30 minutes":              {"2024-05-15T21:00 2024-05-16", "from the last 30 minutes", "what broke in"},
		"what broke between Monday and Friday last week": {"2024-05-06 2024-05-11", "between Monday and Friday last week", "what broke"},
		"what broke from Saturday to Monday":             {"2024-05-11 2024-05-14", "from Saturday to Monday", "what broke"},
		"revenue from Q1 to Q2 2023":                     {"2023-01-01 2023-07-01", "from Q1 to Q2 2023", "revenue"},
		"revenue Q1–Q3 2023":                             {"2023-01-01 2023-10-01", "from Q1–Q3 2023", "revenue"},
		"revenue from Q4 to Q1":                          {"2023-10-01 2024-04-01", "from Q4 to Q1", "revenue"},
		"revenue Q4 2022 to Q1 2023":                     {"2022-10-01 2023-01-01", "from Q4 2022", "revenue to Q1 2023"},
		"what broke ten minutes ago":                     {"2024-05-15T21:15 2024-05-15T21:25", "from ten minutes ago", "what broke"},
		"what was said in the last minutes of the talk":  {},
		"what broke two hours ago":                       {"2024-05-15T18:30 2024-05-15T20:30", "from two hours ago", "what broke"},
		"who met the past president a few hours":         {},
		"qué pasó el mes pasado":                         {"2024-04-01 2024-05-01", "from mes pasado", "qué pasó el"},
		"昨日何をした":                                         {"2024-05-14 2024-05-15", "from 昨日", "何をした"},
		"上个月谁加入了":                                        {"2024-04-01 2024-05-01", "from 上个月", "谁加入了"},
		"去年谁加入了":                                         {"2023-01-01 2024-01-01", "from 去年", "谁加入了"},
		"지난주에 무슨 일":                                      {"2024-05-06 2024-05-13", "from 지난주", "에 무슨 일"},
		"三天前我们决定了什么":                                     {"2024-05-12 2024-05-13", "from 三天前", "我们决定了什么"},
		"最近3天谁加入了":                                       {"2024-05-12 2024-05-16", "from 最近3天", "谁加入了"},
		"两个月前谁加入了":                                       {"2024-03-01 2024-04-01", "from 两个月前", "谁加入了"},
		"3日前の決定":                                         {"2024-05-12 2024-05-13", "from 3日前", "の決定"},
		"2週間前に何をした":                                      {"2024-04-29 2024-05-06", "from 2週間前", "に何をした"},
		"2주 전에 무슨 일":                                     {"2024-04-29 2024-05-06", "from 2주 전", "에 무슨 일"},
		"지난 3일 동안 무슨 일":                                  {"2024-05-12 2024-05-16", "from 지난 3일", "동안 무슨 일"},
		"三天的旅行":                                          {},
		"10分钟前谁部署了":                                      {"2024-05-15T21:15 2024-05-15T21:25", "from 10分钟前", "谁部署了"},
		"2小时前谁部署了":                                       {"2024-05-15T18:30 2024-05-15T20:30", "from 2小时前", "谁部署了"},
		"2024年3月5日何がありましたか":                              {"2024-03-05 2024-03-06", "from 2024年3月5日", ""},
		"3月の決定":                                          {"2024-03-01 2024-04-01", "from 3月", ""},
		"in March and in April":                          {"2024-04-01 2024-05-01", "from April", "in March and in"},
		"between the wars and 2019":                      {"2019-01-01 2020-01-01", "from 2019", "between the wars and"},
		"the 2019 trip":                                  {"2019-01-01 2020-01-01", "from 2019", "the trip"},
		"what happened on 2024-03-05":                    {"2024-03-05 2024-03-06", "from 2024-03-05", "what happened on"},
		"was war am 05.03.2024":                          {"2024-03-05 2024-03-06", "from 05.03.2024", "was war am"},
		"who joined since last year":                     {"2023-01-01 9999-12-31", "since last year", "who joined"},
		"who joined since 2023":                          {"2023-01-01 9999-12-31", "since 2023", "who joined"},
		"where was the office before March":              {"1970-01-01 2024-03-01", "before March", "where was the office"},
		"was hat sich letzte Woche geändert":             {"2024-05-06 2024-05-13", "from letzte Woche", "was hat sich geändert"},
		"was war vor drei Tagen":                         {"2024-05-12 2024-05-13", "from vor drei Tagen", "was war"},
		"cosa è cambiato la settimana scorsa":            {"2024-05-06 2024-05-13", "from settimana scorsa", "cosa è cambiato la"},
		"что изменилось на прошлой неделе":               {"2024-05-06 2024-05-13", "from прошлой неделе", "что изменилось на"},
	} {
		got := ParseAskedTime(question, now)
		span := ""
		if got.Named() {
			shown := func(at int64) string {
				return strings.TrimSuffix(time.UnixMicro(at).UTC().Format("2006-01-02T15:04"), "T00:00")
			}
			span = shown(got.From) + " " + shown(got.To)
		}
		if span != want.span || got.Why != want.why || got.Rest != want.rest {
			t.Errorf("%q: got %q, %q, %q, want %q", question, span, got.Why, got.Rest, want)
		}
		if got.Since != (len(want.why) > 5 && want.why[:5] == "since") {
			t.Errorf("%q: since is %v", question, got.Since)
		}
		if a := ParseAskedTime(question, 0); a.Relative {
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
