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

// wants says what a flag's value may be, by the name that help has for it.
var wants = map[string]string{
	"int": "a whole number", "int64": "a whole number", "uint": "a whole number of at least 0",
	"uint16": "a whole number from 0 to 65535", "uint32": "a whole number of at least 0", "uint64": "a whole number of at least 0",
	"float64": "a number", "bool": "true or false", "duration": "a time such as 500ms, 15s or 1h30m", "bytesHex": "hexadecimal digits",
}

// FlagError says what is wrong with a flag: its name, what it may be, and what was given; and for a flag that is not
// there, which was probably meant.
func FlagError(c *cobra.Command, err error) error {
	var wrong *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &wrong):
		name := "--" + wrong.GetFlag().Name
		if want := wants[wrong.GetFlag().Value.Type()]; want != "" && fromGo(wrong.Unwrap()) {
			return fmt.Errorf("%s: want %s, got %q", name, want, wrong.GetValue())
		}
		if cause := wrong.Unwrap(); strings.HasPrefix(cause.Error(), name) {
			return cause
		}
		return fmt.Errorf("%s %q: %w", name, wrong.GetValue(), wrong.Unwrap())
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		return fmt.Errorf("%s has no flag --%s%s; %s --help lists them", c.CommandPath(), unknown.GetSpecifiedName(),
			meant(c, unknown.GetSpecifiedName()), c.CommandPath())
	case errors.As(err, &unknown):
		return fmt.Errorf("%s has no flag -%s; %s --help lists them", c.CommandPath(), unknown.GetSpecifiedName(), c.CommandPath())
	}
	return err
}

// fromGo reports whether a value was rejected by Go's own parser, whose text is not for people.
func fromGo(err error) bool {
	_, number := errors.AsType[*strconv.NumError](err)
	return number || strings.HasPrefix(err.Error(), "time: ") || strings.HasPrefix(err.Error(), "strconv.")
}

// meant is the flag that a name is near to.
func meant(c *cobra.Command, name string) string {
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

// UnknownVerb rejects a verb that does not exist, and names the verb that was probably meant.
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
