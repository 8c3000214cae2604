package text

import (
	"testing"
	"time"
)

// TestTimesOf checks which days a text refers to that is written on Wednesday, 15 May 2024.
func TestTimesOf(t *testing.T) {
	written := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for text, want := range map[string]struct {
		any bool
		day string
	}{
		"Wow, great!":                        {},
		"Have a nice day, I may march on":    {},
		"They had two of them one after all": {},
		"In May we moved":                    {any: true},
		"we moved in 2019":                   {any: true},
		"it took three days":                 {any: true},
		"we meet on Friday":                  {any: true},
		"see you next time":                  {},
		"I went there yesterday":             {true, "2024-05-14"},
		"Last Friday I ran":                  {true, "2024-05-10"},
		"last Wednesday, after lunch":        {true, "2024-05-08"},
		"next Wednesday":                     {true, "2024-05-22"},
		"last night was short":               {true, "2024-05-14"},
		"we met two weeks ago":               {true, "2024-05-01 month"},
		"that was 3 days ago":                {true, "2024-05-12"},
		"today is better than last Friday":   {true, "2024-05-10"},
		"last weekend":                       {true, "2024-05-08 month"},
		"a few days ago":                     {any: true},
		"last month I quit":                  {true, "2024-04-01 month"},
		"we go next year":                    {true, "2025-05-15 month"},
		"Gestern war ich da":                 {true, "2024-05-14"},
		"letzten Freitag lief ich":           {true, "2024-05-10"},
		"das war vor drei Tagen":             {true, "2024-05-12"},
		"drie dagen geleden":                 {true, "2024-05-12"},
		"il y a deux jours":                  {true, "2024-05-13"},
		"el viernes pasado":                  {true, "2024-05-10"},
		"hace tres días":                     {true, "2024-05-12"},
		"due giorni fa":                      {true, "2024-05-13"},
		"ontem fomos à praia":                {true, "2024-05-14"},
		"för två dagar sedan":                {true, "2024-05-13"},
		"kaksi päivää sitten":                {true, "2024-05-13"},
		"iki gün önce":                       {true, "2024-05-13"},
		"вчера мы гуляли":                    {true, "2024-05-14"},
		"два дня назад":                      {true, "2024-05-13"},
		"قبل ثلاثة أيام":                     {true, "2024-05-12"},
		"ذهبنا أمس إلى السوق":                {true, "2024-05-14"},
		"我们昨天去了公园":                           {true, "2024-05-14"},
		"先週京都へ行きました":                         {true, "2024-05-08 month"},
		"เมื่อวานเราไปตลาด":                  {true, "2024-05-14"},
	} {
		got := TimesOf(text, written)
		day := ""
		if got.Day != 0 {
			if day = time.Unix(int64(got.Day)*86400, 0).UTC().Format(time.DateOnly); !got.Exact {
				day += " month"
			}
		}
		if got.Any != want.any || day != want.day {
			t.Errorf("%q holds a time: %v, and means %q; want %v and %q", text, got.Any, day, want.any, want.day)
		}
	}
	if got := TimesOf("I went there yesterday", 0); !got.Any || got.Day != 0 {
		t.Errorf("a text of unknown date means %+v", got)
	}
}

func TestAsksWhen(t *testing.T) {
	for question, want := range map[string]bool{
		"":                                false,
		"When did Ada move?":              true,
		"Since when does she run?":        true,
		"How long ago did they meet?":     true,
		"In which year was it built?":     true,
		"What did Ada say when she came?": false,
		"What time does the shop open?":   true,
		"How did it go?":                  false,
		"Wann fährt der Zug?":             true,
		"Seit wann läuft er?":             true,
		"In welchem Jahr zog sie um?":     true,
		"Wie lange dauerte es?":           true,
		"Was sagte sie, wann es war?":     false,
		"Wanneer kwam hij?":               true,
		"När åkte de?":                    true,
		"Milloin he muuttivat?":           true,
		"Ne zaman geldin?":                true,
		"Quand est-elle partie ?":         true,
		"¿Cuándo se mudó?":                true,
		"Quando è partita?":               true,
		"Há quanto tempo corre?":          true,
		"Когда они приехали?":             true,
		"В каком году построили?":         true,
		"متى انتقلت؟":                     true,
		"你什么时候去的？":                        true,
		"いつ京都へ行きましたか":                     true,
		"เขาย้ายไปเมื่อไหร่":              true,
	} {
		if got := AsksWhen(question); got != want {
			t.Errorf("%q asks for a time: %v", question, got)
		}
	}
}

// TestLeapDays checks a text that is written on 29 February.
func TestLeapDays(t *testing.T) {
	written := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC).UnixMicro()
	for text, want := range map[string]string{
		"last year we moved":      "2023-02-28",
		"we move next year":       "2025-02-28",
		"that was two years ago":  "2022-02-28",
		"that was four years ago": "2020-02-29",
		"last month I quit":       "2024-01-01",
	} {
		if got := time.Unix(int64(TimesOf(text, written).Day)*86400, 0).UTC().Format(time.DateOnly); got != want {
			t.Errorf("%q means %s, want %s", text, got, want)
		}
	}
	last := TimesOf("last year we moved", written)
	for question, want := range map[string]bool{"what happened in February 2023": true, "what happened in March 2023": false} {
		if asked := ParseAskedTime(question, written); asked.ContainsDay(last.Day, last.Exact) != want {
			t.Errorf("%q is answered by a year before: %v", question, !want)
		}
	}
}

// TestDaysThatAMonthLacks checks questions about days that exist only in some years, or in none.
func TestDaysThatAMonthLacks(t *testing.T) {
	for _, c := range []struct {
		asked, question, from, to string
		day                       int
	}{
		{"2025-05-15", "what happened on February 29?", "2024-02-29", "2024-03-01", 29},
		{"2024-05-15", "what happened on February 29?", "2024-02-29", "2024-03-01", 29},
		{"2024-02-28", "what happened on February 29?", "2020-02-29", "2020-03-01", 29},
		{"2025-05-15", "what happened on February 29, 2023?", "2023-02-01", "2023-03-01", 0},
		{"2025-05-15", "what happened on April 31?", "2025-04-01", "2025-05-01", 0},
		{"2025-05-15", "was war am 30.02.2024", "2024-02-01", "2024-03-01", 0},
	} {
		now, err := time.Parse(time.DateOnly, c.asked)
		if err != nil {
			t.Fatal(err)
		}
		a := ParseAskedTime(c.question, now.UnixMicro())
		if from, to := time.UnixMicro(a.From).UTC().Format(time.DateOnly), time.UnixMicro(a.To).UTC().Format(time.DateOnly); from != c.from ||
			to != c.to || a.Day != c.day {
			t.Errorf("%q asked on %s: got %s to %s, day %d, want %+v", c.question, c.asked, from, to, a.Day, c)
		}
	}
}

// TestMomentsInQuestions: a question about a moment is about its day, and numbers may have other digits.
func TestMomentsInQuestions(t *testing.T) {
	now := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for question, want := range map[string]string{
		"what happened at 2024-03-05T10:00:00Z": "2024-03-05 2024-03-06",
		"what happened on 2024‑03‑05":           "2024-03-05 2024-03-06",
		"ماذا حدث في ٢٠٢٣":                      "2023-01-01 2024-01-01",
		"ماذا حدث في ٥ مارس ٢٠٢٤":               "2024-03-05 2024-03-06",
	} {
		got := ParseAskedTime(question, now)
		if span := time.UnixMicro(got.From).UTC().Format(time.DateOnly) + " " + time.UnixMicro(got.To).UTC().Format(time.DateOnly); span != want {
			t.Errorf("%q: got %q, want %q", question, span, want)
		}
	}
	if !TimesOf("انتقلنا في ٢٠١٩", now).Any {
		t.Error("a year in Arabic digits is no time")
	}
}

// TestWordsThatAreOthersWithoutMarks: the words önce, há, março, dün and gün name times, but without their marks they
// are other words.
func TestWordsThatAreOthersWithoutMarks(t *testing.T) {
	written := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for _, text := range []string{"take the pill once a day", "we meet once a week", "Luca ha tre anni",
		"Dun and Bradstreet called", "the last gun was sold", "she left on the last day", "the next day we left", "am letzten Tag"} {
		if got := TimesOf(text, written); got.Day != 0 {
			t.Errorf("%q means the day %s", text, time.Unix(int64(got.Day)*86400, 0).UTC().Format(time.DateOnly))
		}
	}
	for _, question := range []string{"what did Marco say?", "when does the Mars rover land", "who works at the Mayo Clinic",
		"what did Julio say?", "did Avril call", "where does Mei live"} {
		if got := ParseAskedTime(question, written); got.Named() {
			t.Errorf("%q asks for a time: %s", question, got.Why)
		}
	}
	for question, want := range map[string]string{"o que foi dito em março?": "2024-03-01",
		"what was said in march 2023": "2023-03-01", "vad hände i mars 2024": "2024-03-01",
		"qué pasó en mayo 2023": "2023-05-01", "qué pasó en julio": "2023-07-01",
		"que s'est-il passé en avril": "2024-04-01", "qué pasó en mayo de 2023": "2023-05-01"} {
		if got := time.UnixMicro(ParseAskedTime(question, written).From).UTC().Format(time.DateOnly); got != want {
			t.Errorf("%q asks for %s, want %s", question, got, want)
		}
	}
	for _, text := range []string{"Marco 5 wins", "marco 2024"} {
		for _, token := range Analyze(text) {
			if token.Term == "--03-05" || token.Term == "2024-03" {
				t.Errorf("%q has a date: %s", text, terms(Analyze(text)))
			}
		}
	}
}

// TestTimesWithoutSpaces checks texts in scripts without spaces, written on Wednesday, 15 May 2024.
func TestTimesWithoutSpaces(t *testing.T) {
	written := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for text, want := range map[string]string{
		"Alice昨天搬到了北京":         "2024-05-14", // a name before it
		"一昨日、京都に行きました":         "2024-05-13",
		"大前天下雨了":               "2024-05-12",
		"เมื่อวานซืนเราไปตลาด": "2024-05-13",
		"我们上上周见过面":             "2024-05-01",
		"再来週また会いましょう":          "2024-05-29",
		"明天去，昨天没去":             "2024-05-16", // the first one
		"今天比昨天好":               "2024-05-14",
		"今天很好":                 "2024-05-15",
		"어제 서버가 멈췄다":           "2024-05-14",
		"그저께는 비가 왔다":           "2024-05-13",
		"지난주에 배포했다":            "2024-05-08",
	} {
		if got := time.Unix(int64(TimesOf(text, written).Day)*86400, 0).UTC().Format(time.DateOnly); got != want {
			t.Errorf("%q means %s, want %s", text, got, want)
		}
	}
}

// TestDaysNamedByOthers checks days that are named by another day or by a week, in texts and questions of Wednesday,
// 15 May 2024.
func TestDaysNamedByOthers(t *testing.T) {
	now := time.Date(2024, 5, 15, 21, 30, 0, 0, time.UTC).UnixMicro()
	for said, want := range map[string]string{
		"we met the day before yesterday":         "2024-05-13",
		"we meet the day after tomorrow":          "2024-05-17",
		"we met on Monday last week":              "2024-05-06",
		"we meet on Friday next week":             "2024-05-24",
		"wir trafen uns am Sonntag letzter Woche": "2024-05-12",
		"el viernes pasado":                       "2024-05-10",
	} {
		times, asked := TimesOf(said, now), ParseAskedTime(said, now)
		if got := time.Unix(int64(times.Day)*86400, 0).UTC().Format(time.DateOnly); got != want || !times.Exact {
			t.Errorf("%q means %s, exactly: %v; want %s", said, got, times.Exact, want)
		}
		if !asked.ContainsDay(times.Day, true) || asked.To-asked.From != (24*time.Hour).Microseconds() {
			t.Errorf("%q asks for %s to %s, want %s", said, time.UnixMicro(asked.From).UTC(), time.UnixMicro(asked.To).UTC(), want)
		}
	}
	if got := TimesOf("it began on a Friday last year", now); got.Exact {
		t.Errorf("a Friday last year is %+v", got)
	}
	if got := ParseAskedTime("who came on the Friday last year", now); time.UnixMicro(got.From).UTC().Format(time.DateOnly) != "2023-01-01" {
		t.Errorf("a Friday last year is asked for from %s", time.UnixMicro(got.From).UTC())
	}
}
