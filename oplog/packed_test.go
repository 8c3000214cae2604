package oplog

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// TestPackedIsWhatTheEncoderMakes: what packs itself has, byte for byte, what the encoder makes of its tags, whichever fields are empty.
func TestPackedIsWhatTheEncoderMakes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, v := range []any{&entryHead{}, &Remember{}, &Mention{}, &Memory{}, &Entity{}, &Session{}, &Stats{}, &Result{}} {
		for range 500 {
			of := reflect.ValueOf(v).Elem()
			of.SetZero()
			fill(rng, of)
			if got, want := Pack(nil, v), reflected(v); !bytes.Equal(got, want) {
				t.Fatalf("%T:\n got %x\nwant %x", v, got, want)
			}
		}
	}
}

// fill gives some of the fields values of many sizes.
func fill(rng *rand.Rand, v reflect.Value) {
	length := []int{1, 15, 16, 31, 32, 255, 256, 70_000}[min(rng.IntN(8), rng.IntN(80))]
	if length > 256 && rng.IntN(10) > 0 {
		length = 0
	}
	number := []uint64{1, 127, 128, 255, 256, 65535, 65536, math.MaxUint32, math.MaxUint32 + 1, math.MaxUint64}[rng.IntN(10)]
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if rng.IntN(2) == 0 && v.Type().Field(i).Tag.Get("msgpack") != "-" {
				fill(rng, v.Field(i))
			}
		}
	case reflect.String:
		v.SetString(strings.Repeat("x", length))
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			length = []int{0, 1, 15, 16, 300}[rng.IntN(5)]
		}
		v.Set(reflect.MakeSlice(v.Type(), length, length))
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range length {
				fill(rng, v.Index(i))
			}
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(number & (math.MaxUint64 >> (64 - v.Type().Bits())))
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(int64(number) >> rng.IntN(64))
	case reflect.Float64:
		v.SetFloat([]float64{math.Copysign(0, -1), 1.5, math.Inf(1), math.NaN()}[rng.IntN(4)])
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(rng, v.Elem())
	}
}
