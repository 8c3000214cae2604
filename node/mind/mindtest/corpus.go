// Package mindtest generates memories with known contradictions and duplicates, for tests of thinking.
package mindtest

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
)

// A Corpus is a generated set of memories. The contradictions and duplicates that New plants in it are known by rid.
type Corpus struct {
	Rows       []mind.Row
	Conflicts  map[[2]string]bool // pairs of rids in order
	Duplicates map[[2]string]bool
	Innocent   map[string]bool // rids of look-alikes, which are neither
	At         oplog.Time      // creation time of the newest row

	rng  *rand.Rand
	used map[string]bool
}

var (
	firstNames = strings.Fields("Alice Bob Carol Dave Erin Frank Grace Heidi Ivan Judy Karl Laura Mallory Niaj Olivia Peggy Quentin Rupert Sybil Trent Ursula Victor Wendy Xavier Yvonne Zach Amira Bruno Chloe Dmitri")
	lastNames  = strings.Fields("Chen Okafor Svensson Romero Haddad Novak Iyer Tanaka Moreau Kowalski Petrov Silva Larsen Osei Nakamura Fischer")
	cities     = strings.Fields("Lisbon Berlin Toronto Osaka Nairobi Denver Oslo Madrid Lyon Austin Porto Vienna Dublin Seoul Lima")
	companies  = []string{"Acme", "Globex", "Initech", "Umbrella", "Hooli", "Vandelay", "Wonka Labs", "Stark Industries",
		"Tyrell", "Cyberdyne"}
	projects   = []string{"Apollo", "Borealis", "Cascade", "Dynamo", "Everest", "Falcon", "Gemini", "Horizon", "Iris", "Juniper"}
	stores     = strings.Fields("Postgres MySQL SQLite MongoDB Cassandra DynamoDB")
	languages  = strings.Fields("Python Go Rust Java Kotlin TypeScript Ruby")
	clouds     = strings.Fields("AWS GCP Azure Hetzner")
	colors     = strings.Fields("green blue red purple orange yellow")
	days       = strings.Fields("Monday Tuesday Wednesday Thursday Friday")
	monthNames = strings.Fields("January February March April May June July August September October")
	services   = strings.Fields("billing search checkout gateway ledger mailer auth inventory")
	activities = strings.Fields("hiking chess pottery climbing sailing baking karate fencing")
	openings   = []string{"", "", "", "Note: ", "FYI, ", "Remember that ", "", "Apparently "}
)

// contradictory are templates of contradictions: %s is the subject, the value varies.
var contradictory = []struct {
	text   string
	values func(*Corpus) []string
	of     string // kind of subject: person, project or service
}{
	{"%s lives in %s.", func(*Corpus) []string { return cities }, "person"},
	{"%s works at %s as an engineer.", func(*Corpus) []string { return companies }, "person"},
	{"%s's birthday is %s.", func(c *Corpus) []string { return c.dates() }, "person"},
	{"%s's favorite color is %s.", func(*Corpus) []string { return colors }, "person"},
	{"%s reports to %s.", func(*Corpus) []string { return firstNames }, "person"},
	{"%s is %s years old.", func(*Corpus) []string { return strings.Fields("27 31 38 44 52") }, "person"},
	{"The deadline for Project %s is %s.", func(c *Corpus) []string { return c.dates() }, "project"},
	{"Project %s launches on %s.", func(c *Corpus) []string { return c.dates() }, "project"},
	{"The %s service is written in %s.", func(*Corpus) []string { return languages }, "service"},
	{"The %s service runs on %s.", func(*Corpus) []string { return clouds }, "service"},
	{"We use %[2]s for the %[1]s database.", func(*Corpus) []string { return stores }, "service"},
	{"The weekly sync of Project %s is on %s.", func(*Corpus) []string { return days }, "project"},
	{"Project %s's budget is %s dollars.", func(*Corpus) []string { return strings.Fields("40000 55000 70000 90000") }, "project"},
	{"%s was born in %s.", func(*Corpus) []string { return cities }, "person"},
	{"%s's dog is named %s.", func(*Corpus) []string { return strings.Fields("Rex Luna Milo Bella Ziggy") }, "person"},
	{"The lead of Project %s is %s.", func(*Corpus) []string { return firstNames }, "project"},
}

// lookAlikes are pairs of templates that share an entity and many words, and do not contradict each other.
var lookAlikes = [][2]string{
	{"%s speaks French fluently.", "%s speaks Portuguese fluently."},
	{"%s visited Rome in May.", "%s visited Oslo in June."},
	{"%s likes hiking on weekends.", "%s likes pottery on weekends."},
	{"%s reviewed the billing pull request on Monday.", "%s reviewed the search pull request on Tuesday."},
	{"%s works at the Berlin office on Mondays because of the lab.", "%s worked at Initech until 2019."},
	{"%s paid invoice 1041.", "%s paid invoice 1042."},
	{"%s's sister is called Maria.", "%s's brother is called Nuno."},
	{"%s uses Postgres for analytics.", "%s uses Redis for caching."},
	{"%s fixed bug 311 in the parser.", "%s fixed bug 327 in the lexer."},
	{"%s knows Python well.", "%s knows Rust well."},
	{"%s asked for a refund of order 5521.", "%s asked for an exchange of order 5530."},
	{"%s presented the roadmap in March.", "%s presented the budget in April."},
	{"%s lives in Lisbon.", "%s lived in Porto as a child."},
	{"%s met Bob in Vienna.", "%s met Carol in Vienna."},
	{"%s's laptop is slow today.", "%s's phone is slow today."},
	{"%s owns a red bicycle.", "%s owns a blue kayak."},
}

var fillersText = []string{
	"The %s dashboard showed %d errors after the %s rollout in week %d.",
	"Ticket %[2]d about %[1]s was closed by the %[3]s team in sprint %[4]d.",
	"Run %[4]d of the %[1]s load test reached %[2]d requests while %[3]s was warming up.",
	"Customer %[2]d asked how %[1]s exports relate to %[3]s quotas, case %[4]d.",
}

func (c *Corpus) dates() (out []string) {
	for range 6 {
		out = append(out, fmt.Sprintf("%s %d", monthNames[c.rng.IntN(len(monthNames))], 1+c.rng.IntN(28)))
	}
	return out
}

func (c *Corpus) add(text string) string {
	c.At += oplog.Time(1+c.rng.IntN(600)) * 1e6
	rid := fmt.Sprintf("m%04d", len(c.Rows))
	c.Rows = append(c.Rows,
		mind.Row{RID: rid, Text: text, Type: "semantic", Namespace: "default", Created: c.At, Accessed: c.At, Importance: .5,
			HalfLife: 604800})
	return rid
}

func (c *Corpus) person() string {
	for {
		n := firstNames[c.rng.IntN(len(firstNames))] + " " + lastNames[c.rng.IntN(len(lastNames))]
		if !c.used[n] {
			c.used[n] = true
			return n
		}
	}
}

func pick(c *Corpus, from []string) string { return from[c.rng.IntN(len(from))] }

// two returns two different values.
func (c *Corpus) two(from []string) (string, string) {
	for {
		if a, b := pick(c, from), pick(c, from); a != b {
			return a, b
		}
	}
}

// Pair returns two rids in order.
func Pair(a, b string) [2]string { return [2]string{min(a, b), max(a, b)} }

// vary rewords a sentence: an opening, a filler word, punctuation, or another order of its parts.
func (c *Corpus) vary(s string) string {
	switch c.rng.IntN(6) {
	case 0:
		return "Note that " + s
	case 1:
		return strings.TrimSuffix(s, ".") + ", as noted"
	case 2:
		return strings.Replace(s, " is ", " is currently ", 1) + " "
	case 3:
		return strings.TrimSuffix(s, ".") + "!"
	case 4:
		head, tail, ok := strings.Cut(strings.TrimSuffix(s, "."), " on ")
		if ok {
			return "On " + tail + ", " + head + "."
		}
		return "Just a reminder: " + s
	default:
		return strings.TrimSuffix(s, ".") + " again."
	}
}

// New generates a corpus with 30 contradictions, 40 duplicates and 100 look-alikes among unrelated memories.
func New(seed uint64) *Corpus {
	c := &Corpus{rng: rand.New(rand.NewPCG(seed, 7)), Conflicts: map[[2]string]bool{}, Duplicates: map[[2]string]bool{},
		Innocent: map[string]bool{}, used: map[string]bool{}}
	var later []func()
	subjects := map[string][]string{"project": projects, "service": services}
	taken := map[string]bool{}
	for n := 0; n < 30; n++ {
		t := contradictory[n%len(contradictory)]
		who := ""
		for who == "" || taken[t.text+who] {
			if t.of == "person" {
				who = c.person()
			} else {
				who = pick(c, subjects[t.of])
			}
		}
		taken[t.text+who] = true
		a, b := c.two(t.values(c))
		first := c.add(pick(c, openings) + fmt.Sprintf(t.text, who, a))
		later = append(later, func() { c.Conflicts[Pair(first, c.add(pick(c, openings)+fmt.Sprintf(t.text, who, b)))] = true })
	}
	duplicate := []string{"%s asked for the quarterly report on Thursday.", "%s prefers tea over coffee in the morning.",
		"%s is allergic to shellfish and carries an injector.",
		"%s moved the retro of the platform team on Friday.", "%s wants dark mode in the mobile application.",
		"%s plays the cello in the city orchestra."}
	for n := range 40 {
		s := fmt.Sprintf(duplicate[n%len(duplicate)], c.person())
		first := c.add(s)
		later = append(later, func() { c.Duplicates[Pair(first, c.add(c.vary(s)))] = true })
	}
	for n := range 50 {
		t, who := lookAlikes[n%len(lookAlikes)], c.person()
		a := c.add(fmt.Sprintf(t[0], who))
		c.Innocent[a] = true
		later = append(later, func() { c.Innocent[c.add(fmt.Sprintf(t[1], who))] = true })
	}
	filler := func() {
		c.add(fmt.Sprintf(pick(c, fillersText), pick(c, services), 100+c.rng.IntN(90_000), pick(c, activities), len(c.Rows)))
	}
	for range 150 {
		filler()
	}
	c.rng.Shuffle(len(later), func(i, j int) { later[i], later[j] = later[j], later[i] })
	for _, f := range later {
		f()
		if c.rng.IntN(2) == 0 {
			filler()
		}
	}
	for len(c.Rows) < 560 {
		filler()
	}
	return c
}
