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

// A verb is a request of a protocol as a command: how its arguments and flags become the request, and how the answer is
// shown to a person.
type verb struct {
	use, short, example string
	more                string   // stands below short in the help
	valid               []string // what the shell offers for the first argument
	args                cobra.PositionalArgs
	flags               func(*pflag.FlagSet)
	request             func(f *pflag.FlagSet, args []string) (any, error) // f has the verb's own flags
	show                string                                             // template of the answer for people; JSON without one
	none                string                                             // said where nothing is shown
}

// command makes the command. ask sends a request; its answer, if there is one, is shown also next to an error.
func (v verb) command(s *cli.Streams, ask func(c *cobra.Command, request any) (json.RawMessage, error)) *cobra.Command {
	c := &cobra.Command{Use: v.use, Short: v.short, Example: v.example, Args: v.args, ValidArgs: v.valid}
	if v.more != "" {
		c.Long = v.short + ".\n\n" + v.more
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
	if v.show == "" || asJSON {
		return s.JSON(answer)
	}
	var shown bytes.Buffer
	if err := (&cli.Streams{Out: &shown}).Fill(v.show, answer); err != nil {
		return err
	}
	if shown.Len() == 0 && v.none != "" {
		fmt.Fprintln(s.Err, v.none)
	}
	_, err := shown.WriteTo(s.Out)
	return err
}
