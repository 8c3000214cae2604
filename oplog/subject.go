package oplog

import "reflect"

// Subject returns the id of an operation's subject, for logs and lists; never its content. The tag subject marks the
// field.
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

// When returns an operation's time (its field At); 0 if it has none.
func When(op Op) (at Time) {
	if f := reflect.ValueOf(op).Elem().FieldByName("At"); f.IsValid() {
		at, _ = reflect.TypeAssert[Time](f)
	}
	return at
}
