package text

import (
	"maps"
	"strings"
)

// The kinds of words that name times.
const (
	noTime     uint8 = iota
	vague            // a time that names no day by itself: tonight, weekend
	night            // the day before where it is the last one
	fromToday        // so many days from today
	weekday          // a day of the week, from Sunday
	dayUnit          // a unit that is not a time by itself: day, Tag
	longUnit         // a unit that is a time by itself: days, week, months, years
	lastWord         // the one before: last, letzte, pasada
	nextWord         // the one after
	agoWord          // beside a number and a unit
	numeral          // two, zwei, 2
	monthName        // May and march are months where they have a capital
	plainMonth       // other month names, in any case
	yearName         // 2024
	thisWord         // in questions only, like the kinds below
	sinceWord        // since Monday
	afterWord
	beforeWord
	untilWord
	partOfDay
	fewWord
	quarterName // Q1
)

// A timeWord is a word's kind, and its number: days from today, a day of the week, a count, or the letter of a unit.
type timeWord struct {
	kind uint8
	n    int16
}

var timePrefilter = newPrefilter(maps.Keys(timeWords))

// timeWords are the folded words of the languages that are read.
var timeWords = func() map[string]timeWord {
	m := make(map[string]timeWord)
	for name, n := range months {
		kind := plainMonth
		if len(name) <= 3 {
			kind = monthName
		}
		m[name] = timeWord{kind, int16(n)}
	}
	add := func(kind uint8, n int16, words string) {
		for w := range strings.FieldsSeq(words) {
			m[fold(w)] = timeWord{kind, n}
		}
	}
	for _, week := range []string{ // from Sunday; one word a day
		"sunday monday tuesday wednesday thursday friday saturday",
		"sonntag montag dienstag mittwoch donnerstag freitag samstag",
		"zondag maandag dinsdag woensdag donderdag vrijdag zaterdag",
		"söndag måndag tisdag onsdag torsdag fredag lördag",
		"söndags måndags tisdags onsdags torsdags fredags lördags",
		"sunnuntaina maanantaina tiistaina keskiviikkona torstaina perjantaina lauantaina",
		"pazar pazartesi salı çarşamba perşembe cuma cumartesi",
		"dimanche lundi mardi mercredi jeudi vendredi samedi",
		"domingo lunes martes miércoles jueves viernes sábado",
		"domenica lunedì martedì mercoledì giovedì venerdì sabato",
		"воскресенье понедельник вторник среду четверг пятницу субботу",
		"الأحد الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت",
	} {
		for day, w := range strings.Fields(week) {
			add(weekday, int16(day), w)
		}
	}
	for _, w := range [...]string{"march", "mart", "mars", "mayo", "ocak"} { // other words as well
		m[w] = timeWord{monthName, m[w].n}
	}
	add(vague, 0, "tonight feira среда пятница суббота mañana morgen hours stunden uren timmar tuntia heures horas часов ساعات")
	add(night, 0, "night nacht natt")
	add(fromToday, -2, "vorgestern eergisteren förrgår toissapäivänä anteayer anteontem позавчера")
	add(fromToday, -1, "yesterday gestern gisteren igår eilen dün ayer anoche ieri ontem вчера أمس امبارح")
	add(fromToday, 0, "today heute vandaag idag tänään bugün hoy oggi hoje сегодня اليوم")
	add(fromToday, 1, "tomorrow imorgon huomenna yarın demain domani amanhã завтра غدا")
	add(fromToday, 2, "übermorgen overmorgen övermorgon ylihuomenna послезавтра")
	add(dayUnit, 'd', "day tag dag päivä päivää gün jour día dia giorno день дня يوم")
	add(longUnit, 'd', "days tage tagen dagen dagar jours días dias giorni дней أيام")
	add(longUnit, 'w', `week weeks weekend wochenende woche wochen weken vecka veckan veckor viikko viikolla viikkoa hafta semaine semaines semana semanas
		settimana settimane неделю неделе недели недель أسبوع أسابيع`)
	add(longUnit, 'm', `month months monat monate monaten maand maanden månad månaden månader kuukausi kuukautta kuussa mois meses mese mesi месяц
		месяца месяцев месяце شهر أشهر`)
	add(longUnit, 'y', `year years jahr jahre jahren jaar jaren vuosi vuonna vuotta yıl année années ans año años ano anos anno anni год года
		лет году سنة سنوات عام`)
	add(lastWord, 0, `last letzte letzten letzter letztes letztem vergangene vergangenen vorige vorigen afgelopen förra viime geçen dernier
		dernière passé passée pasado pasada último última scorso scorsa passado passada прошлый прошлую прошлой прошлом прошлое الماضي الماضية`)
	add(nextWord, 0, `next nächste nächsten nächster nächstes nächstem volgende nästa ensi gelecek prochain prochaine próximo próxima prossimo
		prossima следующий следующую следующей следующем следующее القادم القادمة المقبل المقبلة`)
	add(agoWord, 0, "ago vor geleden sedan sitten önce y hace há atrás fa назад قبل منذ")
	add(thisWord, 0, "this diese diesen dieser dieses diesem deze dit denna ce cette questa questo bu этот эту этой этом")
	add(sinceWord, 0, "since seit sinds depuis desde")
	add(afterWord, 0, "after")
	add(beforeWord, 0, "before")
	add(untilWord, 0, "until till bis jusqu hasta fino")
	for _, row := range []struct {
		n     int16
		words string
	}{
		{1, "one a an ein eine einem einer een en ett yksi bir un une una uno um uma один одну"},
		{2, "two zwei twee två kaksi iki deux dos due dois duas два две"},
		{3, "three drei drie tre kolme üç trois tres três tre три ثلاثة"},
		{4, "four vier fyra neljä dört quatre cuatro quattro quatro четыре أربعة"},
		{5, "five fünf vijf fem viisi beş cinq cinco cinque пять خمسة"},
		{6, "six sechs zes sex kuusi altı seis sei шесть"},
		{7, "seven sieben zeven sju seitsemän yedi sept siete sette sete семь"},
		{8, "eight acht åtta kahdeksan sekiz huit ocho otto oito восемь"},
		{9, "nine neun negen nio yhdeksän dokuz neuf nueve nove девять"},
		{10, "ten zehn tien tio kymmenen dix diez dieci dez десять"},
	} {
		add(numeral, row.n, row.words)
	}
	return m
}()

// marked holds words that are other words without their marks: once, ha, Marco, Dun, gun.
var marked = foldedSet("önce há março dün gün")

// smallMonths are months only without a capital; with one they are names.
var smallMonths = foldedSet("mars mayo mei maj julio avril")

// spacelessTimes are times in scripts that write without spaces, or join endings to words as Korean does, with their
// days from today. A word comes after longer ones that begin with it.
var spacelessTimes = []spacelessTime{
	{"一昨日", -2, true}, {"大前天", -3, true}, {"เมื่อวานซืน", -2, true}, {"上上周", -14, false}, {"上上週", -14, false},
	{"下下周", 14, false}, {"再来週", 14, false},
	{"昨天", -1, true}, {"前天", -2, true}, {"今天", 0, true}, {"明天", 1, true}, {"昨日", -1, true}, {"今日", 0, true}, {"明日", 1, true},
	{"เมื่อวาน", -1, true}, {"วันนี้", 0, true}, {"พรุ่งนี้", 1, true},
	{"그저께", -2, true}, {"어제", -1, true}, {"오늘", 0, true}, {"내일", 1, true}, {"지난주", -7, false}, {"지난 주", -7, false},
	{"다음주", 7, false}, {"다음 주", 7, false},
	{"上周", -7, false}, {"上週", -7, false}, {"先週", -7, false}, {"下周", 7, false}, {"来週", 7, false}, {"สัปดาห์ที่แล้ว", -7, false},
}

type spacelessTime struct {
	word  string
	days  int
	exact bool
}

// spacelessWhen are the words of these scripts that ask for a time.
var spacelessWhen = []string{"什么时候", "何时", "哪天", "哪一天", "哪年", "多久", "いつ", "何日", "何年", "何月", "เมื่อไหร่", "เมื่อไร",
	"เมื่อใด", "วันไหน", "นานแค่ไหน", "언제", "며칠", "몇 월", "몇 년"}

// whenWords ask for a time where a question begins with them, or with one word before them.
var whenWords = foldedSet("when wann wanneer når när milloin koska quand cuándo quando когда متى")

// whichWords ask for a time with a word of whichTimes after them, howWords with one of howLong.
var (
	whichWords = foldedSet("what which welches welcher welchem welchen welche welk welke vilken vilket vilka minä millä missä hangi quel quelle qué cuál che quale que qual какой какого каком какую какая أي")
	whichTimes = foldedSet(`date time tag datum dag päivänä päivä viikolla kuussa gün tarih tarihte jour día dia data fecha fecha giorno
		день числа числе дата يوم تاريخ yılda ayda jahr monat woche`)
	howWords = foldedSet("how wie hoe hur kuinka ne combien cuánto quanto сколько как كم")
	howLong  = foldedSet("long lange lang länge kauan zaman temps tiempo tempo времени давно долго")
)

func foldedSet(words string) map[string]bool {
	m := make(map[string]bool)
	for w := range strings.FieldsSeq(words) {
		m[fold(w)] = true
	}
	return m
}
