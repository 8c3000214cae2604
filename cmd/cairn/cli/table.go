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

// Table prints rows below a head. On a terminal the table has borders, fits the width, and colours problems and
// roles. Elsewhere it prints plain columns for other tools.
func Table(w io.Writer, head []string, rows [][]string) error {
	if b, ok := w.(Blocks); ok {
		return b.print(head, rows)
	}
	if IsTerminal(w) {
		return drawTable(w, head, rows)
	}
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		for i, cell := range row {
			row[i] = oneLine.Replace(cell)
		}
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	return tw.Flush()
}

// oneLine keeps a cell in its row and column.
var oneLine = strings.NewReplacer("\n", " ", "\t", " ")

// Blocks is a writer on which Table prints each row as a block of lines, one field a line, so that long values stay
// readable.
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

// Lines prints rows of a name and a value in two columns, without a head.
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
			shown[i] = append(shown[i], Escape(text))
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
	_, err := fmt.Fprintln(Raw(w), text) // the cells are escaped above; borders and colours are not
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

// IsTerminal reports whether the writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := Raw(w).(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
