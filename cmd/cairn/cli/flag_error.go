package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/cairndb/cairn/wire/field"
)

// expectedValues maps pflag's type names to descriptions of the valid values.
var expectedValues = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number of at least 0",
	"uint16": "a whole number from 0 to 65535", "uint32": "a whole number of at least 0", "uint64": "a whole number of at least 0",
	"float64": "a number", "bool": "true or false", "duration": "a time such as 500ms, 15s or 1h30m", "bytesHex": "hexadecimal digits",
}

// FlagError makes cobra's error about a flag readable: it names the flag, the valid values and the given one. For an
// unknown flag it suggests a similar one.
func FlagError(c *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &wrong):
		name := "--" + wrong.GetFlag().Name
		if want := expectedValues[wrong.GetFlag().Value.Type()]; want != "" && isGoParseError(wrong.Unwrap()) {
			return fmt.Errorf("%s: want %s, got %q", name, want, wrong.GetValue())
		}
		if cause := wrong.Unwrap(); strings.HasPrefix(cause.Error(), name) {
			return cause
		}
		return fmt.Errorf("%s %q: %w", name, wrong.GetValue(), wrong.Unwrap())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return fmt.Errorf("%s has no flag --%s%s; %s --help lists them", c.CommandPath(), unknown.GetSpecifiedName(),
			suggestFlag(c, unknown.GetSpecifiedName()), c.CommandPath())
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has no flag -%s; %s --help lists them", c.CommandPath(), unknown.GetSpecifiedName(), c.CommandPath())
	}
	return err
}

// isGoParseError reports whether the error comes from Go's own parsers, whose texts are not readable for users.
func isGoParseError(err error) bool {
	_, number := errors.AsType[*strconv.NumError](err)
	return number || strings.HasPrefix(err.Error(), "time: ") || strings.HasPrefix(err.Error(), "strconv.")
}

// suggestFlag returns a "did you mean" suffix with the flag most similar to a name; blank if there is none.
func suggestFlag(c *cobra.Command, name string) string {
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if best := field.Nearest(name, names); best != "" {
		return ": did you mean --" + best + "?"
	}
	return ""
}

// UnknownVerb returns the error for a verb that does not exist, with a suggestion if a similar verb exists.
func UnknownVerb(c *cobra.Command, name string) error {
	var names []string
	for _, s := range c.Commands() {
		if s.IsAvailableCommand() {
			names = append(names, s.Name())
		}
	}
	best := field.Nearest(name, names)
	begins := func(n string) bool { return len(name) > 1 && strings.HasPrefix(n, name) }
	if i := slices.IndexFunc(names, begins); i >= 0 && !begins(best) {
		best = names[i]
	}
	if best != "" {
		return Usagef("%s has no verb %q: did you mean %s %s?", c.CommandPath(), name, c.CommandPath(), best)
	}
	return Usagef("%s has no verb %q; %s --help lists them", c.CommandPath(), name, c.CommandPath())
}
