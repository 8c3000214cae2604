package oplog

import (
	"reflect"
	"strings"
	"testing"
)

// TestSubjects: the field of each operation that is its subject.
func TestSubjects(t *testing.T) {
	var got []string
	for _, k := range Reads() {
		op := OpKind(k).New()
		name(reflect.ValueOf(op).Elem())
		if s := Subject(op); s != "" {
			got = append(got, OpKind(k).String()+" "+s)
		}
	}
	want := "remember RID, correct RID, forget RID, expect RID, relate ID, unrelate ID, claim ID, assert ID, session_start ID, session_end ID, event Summary, event_mark Summary, " +
		"receipt ID, grant Action, resolve ID, trigger ID, create_database Name, drop_database Name, audit On, foreign OpID"
	if got := strings.Join(got, ", "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// name sets each string of a struct to the name of its field.
func name(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(v.Type().Field(i).Name)
		case reflect.Struct:
			name(f)
		}
	}
}
