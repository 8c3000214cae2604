package oplog

import "reflect"

// Subject is the id of what an operation is about, for logs and lists: never its content. The field that has it bears
// the tag subject.
func Subject(op Op) string { return subject(reflect.ValueOf(op).Elem()) }

func subject(v reflect.Value) string {
	for i := range v.NumField() {
		if _, ok := v.Type().Field(i).Tag.Lookup("subject"); !ok {
			continue
		}
		if f := v.Field(i); f.Kind() == reflect.Struct {
			return subject(f)
		}
		return v.Field(i).String()
	}
	return ""
}

// When is the time that an operation gives what it changes; 0 for one that has none of its own.
func When(op Op) (at Time) {
	if f := reflect.ValueOf(op).Elem().FieldByName("At"); f.IsValid() {
		at, _ = reflect.TypeAssert[Time](f)
	}
	return at
}
