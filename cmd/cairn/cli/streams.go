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

// Streams holds every command's input and outputs: results go to out, everything else to err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Input is standard input, until ctx ends: a read from a terminal can be interrupted.
func (s *Streams) Input(ctx context.Context) io.Reader {
	r, w := io.Pipe()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	go func() { // ends with the input, or with the process
		_, err := io.Copy(w, s.In)
		w.CloseWithError(err)
	}()
	return r
}

// Confirm asks a question and returns an error unless the answer is yes; undone says what has not happened then.
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

// usageError is a call that is wrong as typed.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// Usage marks an error as the caller's: the call is wrong as typed.
func Usage(err error) error { return usageError{err} }

// Usagef makes such an error with a formatted text.
func Usagef(format string, args ...any) error { return Usage(fmt.Errorf(format, args...)) }

// hinted is an error that knows what to do about it.
type hinted struct {
	error
	hint string
}

func (h hinted) Unwrap() error { return h.error }

// Hint adds advice to an error.
func Hint(err error, advice string) error { return hinted{err, advice} }

// Exit says on errw what is wrong, with the advice there is, and returns the exit code for it.
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

// A Failure is an error for programs: with --json, the last line on stderr.
type Failure struct {
	Error    string    `json:"error"`
	Hint     string    `json:"hint,omitempty"`
	Code     string    `json:"code,omitempty"`      // of a gateway that rejected the request
	WireCode wire.Code `json:"wire_code,omitempty"` // of a wire port that did
	Exit     int       `json:"exit"`
}

// failureOf is an error as programs read it, with the exit code; without a text when all is well or said already.
func failureOf(err error) (f Failure, code int) {
	if err == nil {
		return f, ExitOK
	}
	if quiet, ok := errors.AsType[ExitCode](err); ok {
		return f, int(quiet)
	}
	f = Failure{Error: err.Error(), Exit: ExitFailed}
	if h, ok := errors.AsType[hinted](err); ok {
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

// Execute runs a command to its end. It says what is wrong as Exit does, and with --json as a Failure on one line.
func (s *Streams) Execute(ctx context.Context, root *cobra.Command, args []string) int {
	root.SetArgs(args)
	c, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = Lost(s.Out)
	}
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if !AsJSON(c) && !slices.Contains(args, "--json") { // flags that are wrong leave those behind them unread
		return Exit(err, s.Err)
	}
	f, code := failureOf(err)
	if f.Error != "" {
		_ = (&Streams{Out: s.Err}).JSONLine(f) // there is no other place to say that it is lost
	}
	return code
}

// ExitCode is a failure that has said everything already.
type ExitCode int

func (e ExitCode) Error() string { return "" }

// JSON prints a value for machines.
func (s *Streams) JSON(v any) error {
	plain, err := kit.JSON(v)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, withTimes(plain), "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, out.String())
	return err
}

// JSONLine prints a value for machines that read a line at a time.
func (s *Streams) JSONLine(v any) error {
	plain, err := kit.JSON(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Out, "%s\n", withTimes(plain))
	return err
}

// Tell prints a result: as JSON, or for people a line.
func (s *Streams) Tell(asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return s.JSON(v)
	}
	_, err := fmt.Fprintf(s.Out, format+"\n", args...)
	return err
}

// List prints rows: as JSON, or for people as Rows does.
func List[T any](s *Streams, asJSON bool, all []T, head string, cells func(T) []any) error {
	if asJSON {
		return s.JSON(all)
	}
	return Rows(s.Out, all, head, cells)
}

// Rows prints a table below a head; cells returns the cells of a row.
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
