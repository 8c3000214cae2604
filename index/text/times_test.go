package text

import (
	"testing"
	"time"
)

// TestTimesOf: a text that was written on Wednesday, 15 May 2024.
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
