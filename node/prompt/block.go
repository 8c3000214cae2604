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

// A Row is a memory that may go into a block. The caller writes its id and its marks; no client's text is in them.
type Row struct {
	ID, Namespace, Source, Text string

	Created time.Time
	Marks   []string // notes about the memory, such as what it contradicts
}

// ID returns the short form of a memory's id: its number in its database.
func ID(number uint64) string { return "#" + strconv.FormatUint(number, 10) }

// Contradicts returns the mark of a row that contradicts another memory, and whether that one is older, newer or as
// old.
func Contradicts(id, age string) string { return "contradicts " + id + ", which is " + age }

// SupersededBy returns the mark of a row that a newer memory replaces.
func SupersededBy(id string) string { return "superseded by " + id + ", which is newer" }

// Outdated returns the mark of a row if the answer has a newer one about the same thing.
func Outdated(id string) string { return "perhaps outdated by " + id + ", which is newer" }

// Corrected returns the mark of a row whose text was corrected, with the day of the last correction.
func Corrected(at time.Time) string { return CorrectedOn + at.UTC().Format(time.DateOnly) }

// CorrectedOn begins the mark of a corrected row.
const CorrectedOn = "corrected "

// From returns the mark of a row whose writer is trusted less than an agent: tool or web.
func From(class string) string { return "trust: " + class }

// A Budget is the size of a block.
type Budget struct {
	Tokens  int
	Letters float64 // characters a token, if the caller knows its model; 0: estimated by Tokens
}

// A Block is the text for a prompt, and the outcome for each row.
type Block struct {
	Text   string // empty without rows
	Tokens int
	Taken  []Taken
	Left   []Left
}

// Taken is a row in the block.
type Taken struct {
	Row    int // index among the rows
	Tokens int
	Cut    bool
}

// Left is a row that is not in the block.
type Left struct {
	Row    int
	Reason string
}

const (
	opening = "<memory>\n%s" + api.QuotedData + "\n"
	closing = "</memory>\n"

	minTextTokens = 24 // least tokens of a text that is worth a line
	freeTokens    = 64 // tokens that a memory may always have if they fit
)

// Write formats as many of the rows as fit the budget, in their order.
func Write(question string, rows []Row, budget Budget) Block {
	if len(rows) == 0 {
		return Block{}
	}
	w := &blockWriter{budget: budget, terms: termsOf(question)}
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

// List formats all rows as a block, without cuts. order is a sentence about their order with a space after it, or
// empty.
func List(order string, rows []Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, opening, order)
	for i := range rows {
		b.WriteString(rows[i].Line())
	}
	return b.String() + closing
}

// Line returns a row as a line of a block.
func (r *Row) Line() string { return r.line(r.Text, false) }

// A blockWriter builds a block.
type blockWriter struct {
	Block
	text     strings.Builder
	budget   Budget
	terms    map[string]int
	termSets []termSet // term sets of the taken rows, in order
	ids      []string  // ids of the taken rows
	full     bool
}

// add adds a row to the block, or records why it is left out.
func (w *blockWriter) add(i int, r *Row) {
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
	w.termSets, w.ids = append(w.termSets, says), append(w.ids, r.ID)
	w.Taken = append(w.Taken, Taken{Row: i, Tokens: n, Cut: cut})
}

// redundancy returns the reason why a text is not worth a line, or "".
func (w *blockWriter) redundancy(s termSet) string {
	much := 0
	for j, better := range w.termSets {
		if s.repeats(better) {
			return "repeats " + w.ids[j]
		}
		if s.resembles(better) {
			if much++; much == maxResembling {
				return fmt.Sprintf("resembles %s and %d more", w.ids[j], maxResembling-1)
			}
		}
	}
	return ""
}

// cut returns a row's line with the best passage of its text, in at most most tokens. It returns "" if that is not
// worth a line. The first row always gets a line.
func (w *blockWriter) cut(r *Row, most int) (line string, cut bool) {
	frame := w.tokens(r.line("", true))
	if most-frame < minTextTokens {
		if len(w.Taken) > 0 {
			return "", false
		}
		most = frame + minTextTokens
	}
	for room := most - frame; room > 0; room = room * 3 / 4 { // quoting may lengthen the text
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

// line formats a row with a part of its text.
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

// tokens counts the tokens of a text by the caller's measure.
func (w *blockWriter) tokens(s string) int {
	if w.budget.Letters > 0 {
		return int(math.Ceil(float64(utf8.RuneCountInString(s)) / w.budget.Letters))
	}
	return Tokens(s)
}

// scale returns the factor from tokens by the caller's measure to those of Tokens, by which pieces are measured.
func (w *blockWriter) scale(body string) float64 {
	if w.budget.Letters <= 0 {
		return 1
	}
	return float64(Tokens(body)) / float64(max(1, w.tokens(body)))
}
