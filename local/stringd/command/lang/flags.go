package lang

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Flag is an option of a memory command.
type Flag struct {
	Name    string
	NoValue bool               // takes no value
	Check   func(string) error // nil: any value except an empty one
}

// Flags maps the flags that were given to their values.
type Flags map[string]string

// Has reports whether a flag was given.
func (f Flags) Has(name string) bool { _, ok := f[name]; return ok }

// Int returns the integer value of a flag, or def without the flag. The flag was validated before.
func (f Flags) Int(name string, def int) int {
	if n, err := strconv.Atoi(f[name]); err == nil {
		return n
	}
	return def
}

var bareWord = regexp.MustCompile(`[^ \t]+`)

// TakeFlags separates flags from the text between them. Quotes have no meaning, because questions contain
// apostrophes. It reads known flags from the front up to -- or the first other word, then from the end; the text is
// the rest, byte for byte. An invalid value is an error, except in --flag=value at the end: that belongs to the text,
// as does an unknown --word.
func TakeFlags(line string, known []Flag) (f Flags, text string, err error) {
	words := bareWord.FindAllStringIndex(line, -1)
	r := flagReader{known: known, line: line, words: words, to: len(words), read: Flags{}}
	literal, err := r.readFront()
	for more := !literal; more && err == nil; {
		more, err = r.readBack()
	}
	if err != nil {
		return nil, "", err
	}
	if r.from < r.to {
		text = line[words[r.from][0]:words[r.to-1][1]]
	}
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	return r.read, text, nil
}

// flagReader reads the flags of a line. The words from..to are not read yet.
type flagReader struct {
	known    []Flag
	line     string
	words    [][]int // start and end of each word in the line
	from, to int
	read     Flags
}

func (r *flagReader) word(i int) string { return r.line[r.words[i][0]:r.words[i][1]] }

// find returns the known flag that a word names, or nil. value is the text after its =.
func (r *flagReader) find(word string) (k *Flag, value string, eq bool) {
	name, value, eq := strings.Cut(word, "=")
	if i := slices.IndexFunc(r.known, func(k Flag) bool { return k.Name == name }); i >= 0 {
		return &r.known[i], value, eq
	}
	return nil, "", false
}

// readFront reads the flags before the text. literal reports that -- ended them, so that no flags follow the text.
func (r *flagReader) readFront() (literal bool, err error) {
	for ; r.from < r.to; r.from++ {
		word := r.word(r.from)
		k, value, eq := r.find(word)
		switch {
		case word == "--":
			r.from++
			return true, nil
		case k == nil:
			return false, nil
		case k.NoValue:
			value = "true"
		case !eq && r.from+1 < r.to:
			r.from++
			value = Unquote(r.word(r.from))
		case !eq:
			return false, Errorf(InvalidPayload, "%s needs a value", k.Name)
		}
		if err := k.validate(value); err != nil {
			return false, err
		}
		r.read[k.Name] = value
	}
	return false, nil
}

// readBack reads the last flag after the text. more reports whether there was one.
func (r *flagReader) readBack() (more bool, err error) {
	if r.to == r.from {
		return false, nil
	}
	last := r.word(r.to - 1)
	if k, value, eq := r.find(last); k != nil && (k.NoValue && !eq || eq && !k.NoValue && k.validate(value) == nil) {
		if k.NoValue {
			value = "true"
		}
		setIfAbsent(r.read, k.Name, value)
		r.to--
		return true, nil
	}
	if r.to-2 < r.from || strings.HasPrefix(last, "--") {
		return false, nil
	}
	k, _, eq := r.find(r.word(r.to - 2))
	if k == nil || k.NoValue || eq {
		return false, nil
	}
	value := Unquote(last)
	if err := k.validate(value); err != nil {
		return false, err
	}
	setIfAbsent(r.read, k.Name, value)
	r.to -= 2
	return true, nil
}

// validate returns an error if a value is not valid for the flag.
func (k *Flag) validate(value string) error {
	var err error
	switch {
	case k.Check != nil:
		err = k.Check(value)
	case value == "":
		err = errors.New("want a value")
	}
	if err != nil {
		return Errorf(InvalidPayload, "%s %s: %v", k.Name, value, err)
	}
	return nil
}

func setIfAbsent(f Flags, name, v string) {
	if !f.Has(name) {
		f[name] = v
	}
}

// Unquote removes the quotes around a text.
func Unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}
