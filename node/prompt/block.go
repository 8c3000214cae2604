package prompt

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/node/api"
)

// A Row is a memory that may go into a block. Its id and its marks are the caller's own words, never a client's.
type Row struct {
	ID, Namespace, Source, Text string

	Created time.Time
	Marks   []string // what is known of it, such as what it contradicts
}

// ID is the short form of a memory's id: its number in its database.
func ID(number uint64) string { return "#" + strconv.FormatUint(number, 10) }

// Contradicts is the mark of a row that another memory contradicts, which is older, newer or as old.
func Contradicts(id, age string) string { return "contradicts " + id + ", which is " + age }

// SupersededBy is the mark of a row that a newer memory replaces.
func SupersededBy(id string) string { return "superseded by " + id + ", which is newer" }

// Outdated is the mark of a row for which the answer has a newer one about the same.
func Outdated(id string) string { return "perhaps outdated by " + id + ", which is newer" }

// Corrected is the mark of a row whose text was corrected, with the day of the last correction.
func Corrected(at time.Time) string { return CorrectedOn + at.UTC().Format(time.DateOnly) }

// CorrectedOn begins such a mark.
const CorrectedOn = "corrected "

// From is the mark of a row whose writer is trusted less than an agent: tool or web.
func From(class string) string { return "trust: " + class }

// A Budget is the room that a block has.
type Budget struct {
	Tokens  int
	Letters float64 // letters a token, where the caller knows its model; 0: by script
}

// A Block is the text for a prompt, and what became of the rows.
type Block struct {
	Text   string // blank where there are no rows
	Tokens int
	Taken  []Taken
	Left   []Left
}

// Taken is a row that is in the block.
type Taken struct {
	Row    int // its place among the rows
	Tokens int
	Cut    bool
}

// Left is a row that was left out.
type Left struct {
	Row    int
	Reason string
}

const (
	opening = "<memory>\n%s" + api.QuotedData + "\n"
	closing = "</memory>\n"

	minTextTokens = 24 // tokens of a text that is worth a line
	freeTokens    = 64 // tokens that a memory may have whatever its share of the budget is
)

// Write writes the rows that the budget has room for, in their order.
func Write(question string, rows []Row, budget Budget) Block {
	if len(rows) == 0 {
		return Block{}
	}
	w := &writer{budget: budget, terms: termsOf(question)}
	first := "Best first. "
	if strings.TrimSpace(question) == "" {
		first = "Newest first. "
	}
	fmt.Fprintf(&w.text, opening, first)
	w.Tokens = w.tokens(w.text.String()) + w.tokens(closing)
	for i := range rows {
		w.add(i, &rows[i])
	}
	w.text.WriteString(closing)
	w.Text = w.text.String()
	return w.Block
}

// List writes all rows as a block, whole; order is a sentence about their order, with a blank behind it, or blank.
func List(order string, rows []Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, opening, order)
	for i := range rows {
		b.WriteString(rows[i].Line())
	}
	return b.String() + closing
}

// Line is a row as a line of a block.
func (r *Row) Line() string { return r.line(r.Text, false) }

// A writer is a block that is being written.
type writer struct {
	Block
	text   strings.Builder
	budget Budget
	terms  map[string]int
	said   []termSet // of what was taken, in its order
	ids    []string  // of the same
	full   bool
}

// add takes a row, or says why not.
func (w *writer) add(i int, r *Row) {
	if w.full {
		w.Left = append(w.Left, Left{i, "budget"})
		return
	}
	says := termSetOf(r.Text)
	if reason := w.redundancy(says); reason != "" {
		w.Left = append(w.Left, Left{i, reason})
		return
	}
	line, cut := r.line(r.Text, false), false
	n, room := w.tokens(line), w.budget.Tokens-w.Tokens
	if most := max(room/2, min(room, freeTokens)); n > most {
		line, cut = w.cut(r, most)
		n = w.tokens(line)
	}
	if line == "" {
		w.full = true
		w.Left = append(w.Left, Left{i, "budget"})
		return
	}
	w.text.WriteString(line)
	w.Tokens += n
	w.said, w.ids = append(w.said, says), append(w.ids, r.ID)
	w.Taken = append(w.Taken, Taken{Row: i, Tokens: n, Cut: cut})
}

// redundancy says why a text is not worth a line, blank if it is.
func (w *writer) redundancy(s termSet) string {
	much := 0
	for j, better := range w.said {
		if s.repeats(better) {
			return "repeats " + w.ids[j]
		}
		if s.resembles(better) {
			if much++; much == maxAlike {
				return fmt.Sprintf("resembles %s and %d more", w.ids[j], maxAlike-1)
			}
		}
	}
	return ""
}

// cut is a row's line with the best passage of its text in at most so many tokens; blank where that is not worth a
// line. The first row has one whatever the budget is.
func (w *writer) cut(r *Row, most int) (line string, cut bool) {
	frame := w.tokens(r.line("", true))
	if most-frame < minTextTokens {
		if len(w.Taken) > 0 {
			return "", false
		}
		most = frame + minTextTokens
	}
	for room := most - frame; room > 0; room = room * 3 / 4 { // what is quoted may be longer than it was
		part := passage(r.Text, w.terms, int(float64(room)*w.scale(r.Text)))
		if line = r.line(part, part != r.Text); w.tokens(line) <= most {
			return line, part != r.Text
		}
	}
	if len(w.Taken) > 0 {
		return "", false
	}
	return line, true
}

// line is a row as a line, with a part of its text.
func (r *Row) line(body string, cut bool) string {
	marks := r.ID
	if cut {
		marks += ", cut"
	}
	for _, mark := range r.Marks {
		marks += ", " + mark
	}
	return "- [" + marks + "] " + r.Created.UTC().Format(time.DateOnly) + ", " + api.Quote(r.Source, r.Namespace, body) + "\n"
}

// tokens counts a text as the caller counts.
func (w *writer) tokens(s string) int {
	if w.budget.Letters > 0 {
		return int(math.Ceil(float64(utf8.RuneCountInString(s)) / w.budget.Letters))
	}
	return Tokens(s)
}

// scale turns tokens as the caller counts into those that pieces are measured by.
func (w *writer) scale(body string) float64 {
	if w.budget.Letters <= 0 {
		return 1
	}
	return float64(Tokens(body)) / float64(max(1, w.tokens(body)))
}
