package dialect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/cmd/cairn/cli"
)

// A verb is the command for a request of a protocol: it builds the request from arguments and flags, and prints the
// answer.
type verb struct {
	use, short, example string
	details             string   // text below short in the help
	validArgs           []string // completions of the first argument
	args                cobra.PositionalArgs
	flags               func(*pflag.FlagSet)
	request             func(f *pflag.FlagSet, args []string) (any, error) // f: the verb's own flags
	template            string                                             // template to print the answer; blank: JSON
	emptyText           string                                             // message if the template prints nothing
}

// command returns the cobra command. ask sends the request. If it returns an answer and an error, the answer is
// printed too.
func (v verb) command(s *cli.Streams, ask func(c *cobra.Command, request any) (json.RawMessage, error)) *cobra.Command {
	c := &cobra.Command{Use: v.use, Short: v.short, Example: v.example, Args: v.args, ValidArgs: v.validArgs}
	if v.details != "" {
		c.Long = v.short + ".\n\n" + v.details
	}
	if v.flags != nil {
		v.flags(c.Flags())
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		request, err := v.request(c.LocalNonPersistentFlags(), args)
		if err != nil {
			return err
		}
		answer, err := ask(c, request)
		if err != nil && answer == nil {
			return err
		}
		return errors.Join(v.print(s, answer, cli.AsJSON(c)), err)
	}
	return c
}

func (v verb) print(s *cli.Streams, answer json.RawMessage, asJSON bool) error {
	if v.template == "" || asJSON {
		return s.JSON(answer)
	}
	var shown bytes.Buffer
	if err := (&cli.Streams{Out: &shown}).PrintTemplate(v.template, answer); err != nil {
		return err
	}
	if shown.Len() == 0 && v.emptyText != "" {
		fmt.Fprintln(s.Err, v.emptyText)
	}
	_, err := shown.WriteTo(s.Out)
	return err
}
