package command

import (
	"strings"
)

// A flag is what a memory command may be told besides its text.
type flag struct {
	name  string
	bare  bool // takes no value
	check func(string) error
}

// flags are the values of a command's flags; a flag that was not given is absent.
type flags map[string]string

func (f flags) has(name string) bool { _, ok := f[name]; return ok }

// span is one word of a line and where it lies.
type span struct {
	word       string
	start, end int
}

// takeFlags reads the flags around a text. Questions hold apostrophes and dashes, so nothing is quoted: known flags are
// taken from the front up to the first other word or --, then from the end while their values are valid; what is left
// between them is the text, byte for byte. An unknown --word is text.
func takeFlags(line string, known []flag) (f flags, text string, err error) {
	f = flags{}
	words := spans(line)
	from, to := 0, len(words)
	find := func(w string) (*flag, string, bool) {
		name, value, eq := strings.Cut(w, "=")
		for i := range known {
			if known[i].name == name {
				return &known[i], value, eq
			}
		}
		return nil, "", false
	}
	literal := false
	for from < to && !literal {
		w := words[from].word
		k, value, eq := find(w)
		switch {
		case w == "--":
			from, literal = from+1, true
			continue
		case k == nil:
			goto tail
		case k.bare:
			value = "true"
		case !eq && from+1 < to:
			from++
			value = unquote(words[from].word)
		case !eq:
			return nil, "", failf(InvalidPayload, "%s needs a value", k.name)
		}
		if k.check != nil {
			if err := k.check(value); err != nil {
				return nil, "", failf(InvalidPayload, "%s %s: %v", k.name, value, err)
			}
		}
		f[k.name] = value
		from++
	}
tail:
	for !literal && to > from {
		last := words[to-1].word
		if k, value, eq := find(last); k != nil && (k.bare && !eq || eq && !k.bare && valid(k, value)) {
			if k.bare {
				value = "true"
			}
			setOnce(f, k.name, value)
			to--
			continue
		}
		if to-2 >= from {
			if k, _, eq := find(words[to-2].word); k != nil && !k.bare && !eq && !strings.HasPrefix(last, "--") {
				if v := unquote(last); valid(k, v) {
					setOnce(f, k.name, v)
					to -= 2
					continue
				} else if k.check != nil {
					return nil, "", failf(InvalidPayload, "%s %s: %v", k.name, v, k.check(v))
				}
			}
		}
		break
	}
	if from < to {
		text = line[words[from].start:words[to-1].end]
	}
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		text = text[1 : len(text)-1]
	}
	return f, text, nil
}

func valid(k *flag, v string) bool { return k.check == nil || k.check(v) == nil }

func setOnce(f flags, name, v string) {
	if !f.has(name) {
		f[name] = v
	}
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

func spans(line string) (out []span) {
	for i := 0; i < len(line); {
		for i < len(line) && (line[i] == ' ' || line[i] == '\t') {
			i++
		}
		start := i
		for i < len(line) && line[i] != ' ' && line[i] != '\t' {
			i++
		}
		if i > start {
			out = append(out, span{line[start:i], start, i})
		}
	}
	return out
}
