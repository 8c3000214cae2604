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
	Name  string
	Bare  bool               // takes no value
	Check func(string) error // nil: any value but an empty one
}

// Flags maps the flags that were given to their values.
type Flags map[string]string

// Has reports whether a flag was given.
func (f Flags) Has(name string) bool { _, ok := f[name]; return ok }

// Whole returns the integer value of a flag, or def without the flag. The flag was validated before.
func (f Flags) Whole(name string, def int) int {
	if n, err := strconv.Atoi(f[name]); err == nil {
		return n
	}
	return def
}

var bareWord = regexp.MustCompile(`[^ \t]+`)

// TakeFlags separates flags from the text between them. Quotes have no meaning, because questions contain
// apostrophes. Known flags are read from the front up to the first other word or --, then from the end; the text is
// the rest, byte for byte. An invalid value is an error, except for --flag=value at the end, which belongs to the
// text, as does an unknown --word.
func TakeFlags(line string, known []Flag) (f Flags, text string, err error) {
	words := bareWord.FindAllStringIndex(line, -1)
	r := flagReader{known: known, line: line, words: words, to: len(words), read: Flags{}}
	literal, err := r.front()
	for more := !literal; more && err == nil; {
		more, err = r.back()
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

// flagReader has read the flags before and after the words from..to of a line.
type flagReader struct {
	known    []Flag
	line     string
	words    [][]int // where they begin and end in the line
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

// front reads the flags before the text. literal reports that -- ended them, so that nothing after the text is a
// flag.
func (r *flagReader) front() (literal bool, err error) {
	for ; r.from < r.to; r.from++ {
		word := r.word(r.from)
		k, value, eq := r.find(word)
		switch {
		case word == "--":
			r.from++
			return true, nil
		case k == nil:
			return false, nil
		case k.Bare:
			value = "true"
		case !eq && r.from+1 < r.to:
			r.from++
			value = Unquote(r.word(r.from))
		case !eq:
			return false, Failf(InvalidPayload, "%s needs a value", k.Name)
		}
		if err := k.refuses(value); err != nil {
			return false, err
		}
		r.read[k.Name] = value
	}
	return false, nil
}

// back reads the last flag after the text. more reports whether there was one.
func (r *flagReader) back() (more bool, err error) {
	if r.to == r.from {
		return false, nil
	}
	last := r.word(r.to - 1)
	if k, value, eq := r.find(last); k != nil && (k.Bare && !eq || eq && !k.Bare && k.refuses(value) == nil) {
		if k.Bare {
			value = "true"
		}
		setOnce(r.read, k.Name, value)
		r.to--
		return true, nil
	}
	if r.to-2 < r.from || strings.HasPrefix(last, "--") {
		return false, nil
	}
	k, _, eq := r.find(r.word(r.to - 2))
	if k == nil || k.Bare || eq {
		return false, nil
	}
	value := Unquote(last)
	if err := k.refuses(value); err != nil {
		return false, err
	}
	setOnce(r.read, k.Name, value)
	r.to -= 2
	return true, nil
}

// refuses returns an error if a value is not valid for the flag.
func (k *Flag) refuses(value string) error {
	var err error
	switch {
	case k.Check != nil:
		err = k.Check(value)
	case value == "":
		err = errors.New("want a value")
	}
	if err != nil {
		return Failf(InvalidPayload, "%s %s: %v", k.Name, value, err)
	}
	return nil
}

func setOnce(f Flags, name, v string) {
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
