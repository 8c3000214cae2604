package oplog

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

// TestEveryFieldIsBounded sets each field of each operation, including nested ones, to values that must not be
// stored. Check rejects all of them.
func TestEveryFieldIsBounded(t *testing.T) {
	tried := 0
	for _, k := range Reads() {
		op := OpKind(k).New()
		fields := reflect.ValueOf(op).Elem()
		whole(fields)
		if err := Check(op); err != nil {
			t.Errorf("%s: %v", OpKind(k), err)
		}
		walk(fields, OpKind(k).String(), func(path string, v reflect.Value) {
			was := reflect.New(v.Type()).Elem()
			was.Set(v)
			for _, x := range forbidden(v) {
				v.Set(x)
				if tried++; Check(op) == nil {
					t.Errorf("%s may be %.40v", path, x)
				}
			}
			v.Set(was)
		})
	}
	if tried < 300 {
		t.Errorf("only %d values were tried", tried)
	}
}

// whole sets pointers and lists to one value each, so that all fields exist.
func whole(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			whole(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		whole(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			whole(v.Index(0))
		}
	}
}

func walk(v reflect.Value, path string, f func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.Tag.Get("msgpack") != "-" {
				walk(v.Field(i), path+"."+field.Name, f)
			}
		}
		return
	case reflect.Pointer:
		walk(v.Elem(), path, f)
		return
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			walk(v.Index(0), path, f)
		}
	}
	f(path, v)
}

func forbidden(v reflect.Value) (values []reflect.Value) {
	add := func(all ...any) {
		for _, x := range all {
			values = append(values, reflect.ValueOf(x).Convert(v.Type()))
		}
	}
	switch {
	case v.Type() == reflect.TypeFor[Vector]():
		add([]byte("abc"), make([]byte, 4*MaxDim+4), []byte{0, 0, 0xc0, 0x7f}, []byte{0, 0, 0x80, 0xff})
	case v.Type() == reflect.TypeFor[Time]():
		add(math.MinInt64, math.MaxInt64)
	case v.Kind() == reflect.String:
		add(strings.Repeat("k", MaxText+1))
	case v.Kind() == reflect.Float64:
		add(math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64)
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8:
		add(make([]byte, MaxCapture+1))
	case v.Kind() == reflect.Slice:
		values = append(values, reflect.MakeSlice(v.Type(), MaxList+1, MaxList+1))
	}
	return values
}
