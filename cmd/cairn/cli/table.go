package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/lipgloss/table"
	"golang.org/x/term"
)

// Table prints rows below a head: on a terminal with borders, no wider than it, and in colour where a cell says
// something special; elsewhere in columns that tools can cut.
func Table(w io.Writer, head []string, rows [][]string) error {
	if b, ok := w.(Blocks); ok {
		return b.print(head, rows)
	}
	if IsTerminal(w) {
		return drawTable(w, head, rows)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// Blocks is a writer on which a table's rows are blocks of lines, a field a line: what is too long for a column can be
// read whole.
type Blocks struct{ io.Writer }

func (b Blocks) print(head []string, rows [][]string) error {
	for i, row := range rows {
		if _, err := fmt.Fprintf(b, "-- %d\n", i+1); err != nil {
			return err
		}
		fields := make([][]string, len(row))
		for k, cell := range row {
			fields[k] = []string{head[k], cell}
		}
		if err := Lines(b.Writer, fields); err != nil {
			return err
		}
	}
	return nil
}

// Lines prints rows in columns, without a head.
func Lines(w io.Writer, rows [][]string) error {
	wide := 0
	for _, row := range rows {
		wide = max(wide, len(row[0]))
	}
	for _, row := range rows {
		text := strings.ReplaceAll(strings.TrimRight(row[1], "\n"), "\n", "\n"+strings.Repeat(" ", wide+2))
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", wide, row[0], text); err != nil {
			return err
		}
	}
	return nil
}

// colours maps cells that report a problem or a role of a node to their colours.
var colours = map[string]lipgloss.Color{"Leader": "10", "NO": "9", "DIVERGED": "9"}

func drawTable(w io.Writer, head []string, rows [][]string) error {
	cell := lipgloss.NewStyle().Padding(0, 1)
	shown := make([][]string, len(rows))
	for i, row := range rows {
		for _, text := range row {
			shown[i] = append(shown[i], Show(text))
		}
	}
	t := table.New().Border(lipgloss.RoundedBorder()).BorderStyle(lipgloss.NewStyle().Faint(true)).Headers(head...).Rows(shown...).
		StyleFunc(func(row, col int) lipgloss.Style {
			if row == table.HeaderRow {
				return cell.Bold(true)
			}
			if c, ok := colours[rows[row][col]]; ok {
				return cell.Foreground(c).Bold(true)
			}
			return cell
		})
	text := t.String()
	if wide := widthOf(w); wide > 0 && lipgloss.Width(text) > wide {
		text = t.Width(wide).String()
	}
	_, err := fmt.Fprintln(Raw(w), text) // its borders and colours are ours
	return err
}

// widthOf returns the number of columns of a terminal; 0 when it is unknown.
func widthOf(w io.Writer) int {
	f, ok := Raw(w).(*os.File)
	if !ok {
		return 0
	}
	wide, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return wide
}

// IsTerminal reports whether a person reads what is written there.
func IsTerminal(w io.Writer) bool {
	f, ok := Raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
