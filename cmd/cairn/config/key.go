package config

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
)

// A key is a key of the file, with its field in File.
type key struct {
	section string // such as cluster.peers
	name    string
	field   reflect.StructField
	index   []int // path of the field in File; nil inside a list
}

// keys lists all keys that have an effect, in the order of File's fields.
var keys = keysOf(reflect.TypeFor[File](), "", nil, false)

func keysOf(t reflect.Type, section string, index []int, listed bool) (all []key) {
	for i := range t.NumField() {
		f := t.Field(i)
		name := f.Tag.Get("toml")
		at := append(index[:len(index):len(index)], i)
		inner := strings.TrimPrefix(section+"."+name, ".")
		switch {
		case f.Anonymous:
			all = append(all, keysOf(f.Type, section, at, listed)...)
		case f.Type.Kind() == reflect.Struct:
			all = append(all, keysOf(f.Type, inner, at, listed)...)
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			all = append(all, keysOf(f.Type.Elem(), inner, nil, true)...)
		case section == "": // a section without effect
		case listed:
			all = append(all, key{section: section, name: name, field: f})
		default:
			all = append(all, key{section: section, name: name, field: f, index: at})
		}
	}
	return all
}

// keyAt finds a key by its section and name. It ignores case, as the decoder does.
func keyAt(path string) (k key, known bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return strings.EqualFold(k.section+"."+k.name, path) })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// kind returns the type of the key's value, in words.
func (k key) kind() string {
	t := k.field.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Map:
		return "table"
	case reflect.Slice:
		return "list of strings"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	}
	return "number"
}

// bounds returns the smallest and the largest value of a number. Negative values need the tag negative; a port has 16
// bits; and times are at most a century, because longer ones overflow.
func (k key) bounds() (least, most int64) {
	most = math.MaxInt64
	if k.field.Type.Kind() == reflect.Uint32 {
		most = math.MaxUint32
	}
	if strings.HasSuffix(k.name, "_port") {
		most = math.MaxUint16
	}
	if unit, ok := units[k.field.Tag.Get("unit")]; ok {
		most = int64(century / unit)
	}
	if k.field.Tag.Get("negative") != "" {
		least = -most
	}
	return least, most
}

const century = 100 * 365 * 24 * time.Hour

var units = map[string]time.Duration{"milliseconds": time.Millisecond, "seconds": time.Second, "minutes": time.Minute, "hours": time.Hour}

// check returns an error if the key is a number and its value in f is out of bounds.
func (k key) check(f *File) error {
	if k.index == nil || k.kind() != "number" {
		return nil
	}
	v := reflect.Indirect(reflect.ValueOf(f).Elem().FieldByIndex(k.index))
	if !v.IsValid() || !v.CanInt() { // an unsigned number was checked during decoding
		return nil
	}
	if least, most := k.bounds(); v.Int() < least || v.Int() > most {
		return fmt.Errorf("%s.%s: want %s, got %d", k.section, k.name, k.describeValues(), v.Int())
	}
	return nil
}

// describeValues describes the valid values of the key.
func (k key) describeValues() string {
	switch kind := k.kind(); kind {
	case "number":
		switch least, most := k.bounds(); {
		case most < math.MaxInt64:
			return fmt.Sprintf("a number from %d to %d", least, most)
		case least == 0:
			return "a whole number of at least 0"
		}
		return "a whole number"
	case "boolean":
		return "true or false"
	default:
		return "a " + kind
	}
}

// checkNumbers returns an error for each number that is out of bounds.
func (f *File) checkNumbers() error {
	return errors.Join(api.Each(keys, func(k key) error { return k.check(f) })...)
}

// variables returns the environment variables that override the key. The first one that is set wins.
func (k key) variables() []string {
	given := k.field.Tag.Get("env")
	switch {
	case given == "-", k.index == nil, k.kind() == "table":
		return nil
	case given != "":
		return strings.Split(given, ",")
	}
	return []string{k.defaultVariable()}
}

// defaultVariable returns the variable's name derived from the section and the key.
func (k key) defaultVariable() string {
	return "CAIRN_" + strings.ToUpper(strings.ReplaceAll(k.section, ".", "_")+"_"+k.name)
}

// set sets the key to a value from a text. Items of a list are separated by commas.
func (k key) set(f *File, text string) (err error) {
	v := reflect.ValueOf(f).Elem().FieldByIndex(k.index)
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Slice:
		v.Set(reflect.ValueOf(strings.Split(text, ",")))
	case reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case reflect.Int:
		var n int
		n, err = strconv.Atoi(text)
		v.SetInt(int64(n))
	case reflect.Uint32, reflect.Uint64:
		var n uint64
		n, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
	default:
		panic(fmt.Sprintf("config: no text for %s.%s", k.section, k.name))
	}
	return err
}

// HexKeyEnv is YantrikDB's environment variable for the master key. It is used only if no other source is configured.
const HexKeyEnv = "YANTRIKDB_ENCRYPTION_KEY_HEX"

// applyEnvironment sets the keys that have a value in the environment.
func applyEnvironment(f *File, env func(string) string) error {
	for _, k := range keys {
		for _, name := range k.variables() {
			v := env(name)
			if v == "" {
				continue
			}
			if k.section == "encryption" {
				f.Encryption = encryption{Generate: f.Encryption.Generate} // the environment's source replaces any source in the file
			}
			if err := k.set(f, v); err != nil {
				return fmt.Errorf("environment %s: %w", name, err)
			}
			break
		}
	}
	if env(HexKeyEnv) != "" && !f.encryption().Enabled() {
		f.Encryption.KeyEnv = HexKeyEnv
	}
	return nil
}

// SecretVariables returns the environment variables whose values are secrets.
func SecretVariables() []string {
	names := []string{HexKeyEnv}
	for _, k := range keys {
		if k.field.Tag.Get("secret") != "" {
			names = append(names, k.variables()...)
		}
	}
	return names
}
