package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/client"
)

// The exit codes.
const (
	ExitOK     = 0
	ExitFailed = 1
	ExitUsage  = 2
)

// Streams holds a command's input and outputs. Results go to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Input returns a reader of standard input that fails once ctx ends, so that a read from a terminal can be
// interrupted.
func (s *Streams) Input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() { // ends with the input, or with the process
		_, err := io.Copy(w, s.In)
		w.CloseWithError(err)
	}()
	return r
}

// Confirm asks a yes-or-no question. It returns an error with the text undone unless the answer is yes.
func (s *Streams) Confirm(ctx context.Context, question, undone string) error {
	fmt.Fprint(s.Err, question, " [y/N] ")
	line, err := bufio.NewReader(s.Input(ctx)).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil {
		fmt.Fprintln(s.Err)
	}
	return Hint(errors.New(undone), "answer y, or give --yes")
}

// usageError marks an error of the command line itself; the exit code is ExitUsage.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// Usage marks an error as a usage error.
func Usage(err error) error { return usageError{err} }

// Usagef returns a usage error with a formatted text.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// hintedError is an error with advice for the user.
type hintedError struct {
	error
	hint string
}

func (h hintedError) Unwrap() error { return h.error }

// Hint adds advice to an error.
func Hint(err error, advice string) error { return hintedError{err, advice} }

// Exit prints an error and its hint on errw, and returns the exit code.
func Exit(err error, errw io.Writer) int {
	f, code := failureOf(err)
	if f.Error == "" {
		return code
	}
	fmt.Fprintf(errw, "cairn: %s\n", f.Error)
	if f.Hint != "" {
		fmt.Fprintf(errw, "hint: %s\n", f.Hint)
	}
	return code
}

// A Failure is an error as JSON: the last line on stderr with --json.
type Failure struct {
	Error    string    `json:"error"`
	Hint     string    `json:"hint,omitempty"`
	Code     string    `json:"code,omitempty"`      // from a gateway
	WireCode wire.Code `json:"wire_code,omitempty"` // from a wire port
	Exit     int       `json:"exit"`
}

// failureOf converts an error to a Failure with its exit code. The text is blank for no error and for an ExitCode.
func failureOf(err error) (f Failure, code int) {
	if err == nil {
		return f, ExitOK
	}
	if quiet, ok := errors.AsType[ExitCode](err); ok {
		return f, int(quiet)
	}
	f = Failure{Error: err.Error(), Exit: ExitFailed}
	if h, ok := errors.AsType[hintedError](err); ok {
		f.Hint = h.hint
	}
	if e, ok := errors.AsType[*HTTPError](err); ok {
		f.Code = e.Code
	}
	if e, ok := errors.AsType[*client.Error](err); ok {
		f.WireCode = e.Code
	}
	if _, ok := errors.AsType[usageError](err); ok {
		f.Exit = ExitUsage
	}
	return f, f.Exit
}

// Execute runs a command and returns its exit code. It prints an error as Exit does, or with --json as a Failure.
func (s *Streams) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = WriteError(s.Out)
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if !AsJSON(c) && !slices.Contains(args, "--json") { // also check args: after a wrong flag, cobra does not parse the next ones
		return Exit(err, s.Err)
	}
	f, code := failureOf(err)
	if f.Error != "" {
		_ = (&Streams{Out: s.Err}).JSONLine(f) // stderr failed: there is nowhere to report it
	}
	return code
}

// ExitCode is the error of a command that has printed its messages already.
type ExitCode int

func (e ExitCode) Error() string { return "" }

// JSON prints a value as indented JSON.
func (s *Streams) JSON(v any) error {
	plain, err := kit.JSON(v)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, formatTimes(plain), "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, out.String())
	return err
}

// JSONLine prints a value as one line of JSON.
func (s *Streams) JSONLine(v any) error {
	plain, err := kit.JSON(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", formatTimes(plain))
	return err
}

// PrintResult prints a result as JSON, or else as a formatted line.
func (s *Streams) PrintResult(asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return s.JSON(v)
	}
	_, err := fmt.Fprintf(s.Out, format+"\n", args...)
	return err
}

// List prints rows as JSON, or else as a table.
func List[T any](s *Streams, asJSON bool, all []T, head string, cells func(T) []any) error {
	if asJSON {
		return s.JSON(all)
	}
	return Rows(s.Out, all, head, cells)
}

// Rows prints a table. The head has its columns separated by "|"; cells returns the cells of a row.
func Rows[T any](w io.Writer, all []T, head string, cells func(T) []any) error {
	rows := make([][]string, len(all))
	for i, x := range all {
		for _, cell := range cells(x) {
			rows[i] = append(rows[i], fmt.Sprint(cell))
		}
	}
	return Table(w, strings.Split(head, "|"), rows)
}

// WithJSON adds --json to a command that has no Target.
func WithJSON(c *cobra.Command) *cobra.Command {
	c.Flags().Bool("json", false, "print JSON")
	return c
}

// AsJSON reports whether a command was given --json.
func AsJSON(c *cobra.Command) bool {
	is, err := c.Flags().GetBool("json")
	return err == nil && is
}
