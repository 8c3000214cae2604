package gateway

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"strings"
)

// sendLarge writes an answer row by row, so that its text is never in memory as a whole. If it fails, it aborts the
// connection, so the client notices that the answer is incomplete.
func sendLarge(w http.ResponseWriter, answer any) {
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, 32<<10)
	err := encode(out, reflect.ValueOf(answer))
	if err == nil {
		_, err = out.WriteString("\n")
	}
	if err != nil || out.Flush() != nil {
		panic(http.ErrAbortHandler) // aborts the connection
	}
}

// encode writes a pointer to a struct like json.Marshal, but encodes the elements of its lists one by one.
func encode(w io.Writer, v reflect.Value) error {
	next := "{"
	if err := encodeFields(w, v.Elem(), &next); err != nil {
		return err
	}
	if next == "{" {
		next = "{}"
	} else {
		next = "}"
	}
	_, err := io.WriteString(w, next)
	return err
}

// encodeFields writes a struct's fields; next holds the text to write before the next field.
func encodeFields(w io.Writer, v reflect.Value, next *string) error {
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported() && !f.Anonymous, options == "omitempty" && isEmpty(x), options == "omitzero" && x.IsZero():
			continue
		case f.Anonymous && name == "":
			if x.Kind() == reflect.Pointer {
				x = x.Elem()
			}
			if x.IsValid() {
				if err := encodeFields(w, x, next); err != nil {
					return err
				}
			}
			continue
		}
		if _, err := io.WriteString(w, *next+`"`+name+`":`); err != nil {
			return err
		}
		*next = ","
		if err := encodeList(w, x); err != nil {
			return err
		}
	}
	return nil
}

// encodeList writes a value; of a list it encodes the elements one by one.
func encodeList(w io.Writer, x reflect.Value) error {
	if x.Kind() != reflect.Slice || x.Type().Elem().Kind() != reflect.Struct || x.Len() == 0 {
		return encodeValue(w, "", x)
	}
	before := "["
	for i := range x.Len() {
		if err := encodeValue(w, before, x.Index(i)); err != nil {
			return err
		}
		before = ","
	}
	_, err := io.WriteString(w, "]")
	return err
}

func encodeValue(w io.Writer, before string, x reflect.Value) error {
	b, err := json.Marshal(x.Interface())
	if err == nil {
		_, err = io.WriteString(w, before)
	}
	if err == nil {
		_, err = w.Write(b)
	}
	return err
}

// isEmpty reports whether omitempty drops a value.
func isEmpty(x reflect.Value) bool {
	switch x.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return x.Len() == 0
	case reflect.Struct:
		return false
	}
	return x.IsZero()
}
