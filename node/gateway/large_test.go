package gateway

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestLargeAnswersAreTheSame checks that encode and json.Marshal agree on the answer of every operation, empty and
// with two rows in each list.
func TestLargeAnswersAreTheSame(t *testing.T) {
	t.Parallel()
	for _, op := range api.Ops {
		if op.Stream || op.HTTP == "" {
			continue
		}
		for _, full := range []bool{false, true} {
			answer := reflect.ValueOf(op.Answer())
			if full {
				fill(answer.Elem(), 0)
			}
			want, err := json.Marshal(answer.Interface())
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			if err := encode(&got, answer); err != nil || got.String() != string(want) {
				t.Errorf("%s: %v\n%s\n%s", op.Name, err, got.String(), want)
			}
		}
	}
}

// fill gives every field a value, and every list two elements.
func fill(v reflect.Value, depth int) {
	if !v.CanSet() || depth > 6 {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(7)
	case reflect.Uint, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(7)
	case reflect.Float32, reflect.Float64:
		v.SetFloat(.5)
	case reflect.String:
		v.SetString("a<b>\u2028\"")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a":"<b>"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), depth+1)
		fill(v.Index(1), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}
