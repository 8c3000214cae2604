package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// A requestFlag is a flag that gives a field of an operation's request. What it means, what holds without it and what it may be
// stand with the field.
type requestFlag struct{ name, short, field string }

// giveFlags adds to a verb the flags of an operation and binds them to the message that carries its request. What it returns, called when
// the flags are read, refuses the values that the operation would.
func giveFlags(c *cobra.Command, op *api.Op, message any, flags []requestFlag) (check func() error) {
	var checks []func() error
	for _, f := range flags {
		checks = append(checks, f.give(c, op.Takes().Named(f.field), slotOf(message, f.field)))
	}
	return func() error {
		for i, check := range checks {
			if !c.Flags().Changed(flags[i].name) {
				continue
			}
			if err := check(); err != nil {
				return cli.Usage(err)
			}
		}
		return nil
	}
}

// slotOf is the place of a request's field in the message: MemoryType for memory_type.
func slotOf(message any, name string) reflect.Value {
	v := reflect.ValueOf(message).Elem()
	plain := strings.ReplaceAll(name, "_", "")
	slot := v.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, plain) })
	if !slot.IsValid() {
		panic(fmt.Sprintf("cairn: %s has no %s", v.Type(), name))
	}
	return slot
}

// give adds the flag, with its value in the message, and returns what looks at a value that was given.
func (f requestFlag) give(c *cobra.Command, d field.Field, slot reflect.Value) (check func() error) {
	fs, usage, said := c.Flags(), d.Phrase(), "--"+f.name
	if d.Default != "" && slot.Kind() != reflect.Slice {
		if _, err := fmt.Sscan(d.Default, slot.Addr().Interface()); err != nil {
			panic(fmt.Sprintf("cairn: default of %s: %v", d.Name, err))
		}
	}
	ok := func() error { return nil }
	switch to := slot.Addr().Interface().(type) {
	case *string:
		fs.StringVarP(to, f.name, f.short, *to, usage)
		return func() error { return d.Kind.Text(said, *to) }
	case **string: // absent where the flag is blank
		text := fs.StringP(f.name, f.short, "", usage)
		return func() error {
			if *text != "" {
				*to = text
			}
			return nil
		}
	case *float64:
		if d.Kind.Name == "date" {
			text := fs.StringP(f.name, f.short, "", usage+" "+timeUsage)
			return func() error { return dateFlag(said, *text, to) }
		}
		fs.Float64VarP(to, f.name, f.short, *to, usage)
		return func() error { return d.Kind.Number(said, *to) }
	case *int:
		fs.IntVarP(to, f.name, f.short, *to, usage)
		return func() error { return d.Kind.Number(said, float64(*to)) }
	case *uint64:
		fs.Uint64VarP(to, f.name, f.short, *to, usage)
		return ok
	case *bool:
		fs.BoolVarP(to, f.name, f.short, *to, usage)
		return ok
	case *[]string:
		fs.StringSliceVarP(to, f.name, f.short, nil, usage)
		return ok
	case *wire.JSON:
		text := fs.StringP(f.name, f.short, "", usage)
		return func() error {
			if *text != "" && !json.Valid([]byte(*text)) {
				return fmt.Errorf("%s is not JSON", said)
			}
			*to = wire.JSON(*text)
			return nil
		}
	}
	panic(fmt.Sprintf("cairn: no flag for a %s", slot.Type()))
}

// timeUsage is what a flag for a time takes.
const timeUsage = "A date, RFC 3339, Unix seconds, 2h for two hours ago or +3d for in three days"

// dateFlag reads a date.
func dateFlag(said, text string, to *float64) error {
	if text == "" {
		return nil
	}
	at, err := cli.ParseTime(text, time.Now())
	if err != nil {
		return fmt.Errorf("%s %q: %w", said, text, err)
	}
	*to = field.Seconds(at)
	return nil
}
