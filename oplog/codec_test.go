package oplog

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/vmihailenco/msgpack/v5"

	"github.com/cairndb/cairn/oplog/suite"
)

// stored lists the types that are packed: operations and the values of rows.
var stored = func() []any {
	all := []any{&entryHead{}, &Remember{}, &Mention{}, &Memory{}, &Entity{}, &Session{}, &Stats{}, &Result{}, &Database{},
		&Embedder{}, &Token{}, &Embedding{},
		&StoredClaim{}, &StoredAlias{}, &StoredEvent{}, &StoredGrant{}, &AuditRow{}, &NodeInfo{}, &Limit{}, &Revision{},
		&Edge{}, &EventCounts{}, &EventSession{},
		&ConflictRow{}, &TriggerRow{}, &Pattern{}, &Personality{}, &Weights{}, &Judgement{}, &Settings{}, &Mind{}, &Partitions{}, &Error{}}
	for _, k := range Reads() {
		all = append(all, OpKind(k).New())
	}
	return all
}()

func fresh(v any) any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }

// encoded encodes a value with the msgpack library.
func encoded(v any) []byte {
	var b bytes.Buffer
	enc := msgpack.NewEncoder(&b)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// TestPackIsTheLibrarys: Pack encodes each type byte for byte like the msgpack library, whichever fields are empty,
// and Unpack decodes like the library.
func TestPackIsTheLibrarys(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	rounds := suite.Count(3, 50, 50)
	if testing.Short() {
		rounds = 3
	}
	for _, v := range stored {
		for range rounds {
			full := fresh(v)
			fill(rng, reflect.ValueOf(full).Elem())
			in := encoded(full)
			if out := Pack(nil, full); !bytes.Equal(out, in) {
				t.Fatalf("%T:\n got %x\nwant %x", v, out, in)
			}
			got := fresh(v)
			if err := Unpack(in, got); err != nil {
				t.Fatalf("%T: %v\n%x", v, err, in)
			}
			asDecoder(t, in, got)
			cut := fresh(v)
			if at := rng.IntN(len(in)); Unpack(in[:at], cut) == nil {
				t.Fatalf("%T: %d of %d bytes are read", v, at, len(in))
			}
		}
	}
}

// TestFieldsInAnyOrder: Unpack reads fields in another order, and skips unknown fields, as the library's decoder
// does.
func TestFieldsInAnyOrder(t *testing.T) {
	in := []byte("\x84\xa1t\xa6person\xa1z\x92\x01\xc0\xa1n\xa3Ada\xa1y\x81\xa1n\xa1m")
	var got Mention
	if err := Unpack(in, &got); err != nil || got != (Mention{Name: "Ada", Type: "person"}) {
		t.Errorf("%+v, %v", got, err)
	}
	asDecoder(t, in, &got)
}

// asDecoder fails unless the library's decoder reads the same value.
func asDecoder(t *testing.T, in []byte, got any) {
	t.Helper()
	want := fresh(got)
	if err := msgpack.Unmarshal(in, want); err != nil {
		t.Fatalf("%T is read, and the decoder says %v\n%x", got, err, in)
	}
	withoutNaN(reflect.ValueOf(got).Elem())
	withoutNaN(reflect.ValueOf(want).Elem())
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("%T:\n got %+v\nwant %+v\n%x", got, got, want, in)
	}
}

// withoutNaN replaces NaN, so that values can be compared.
func withoutNaN(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			withoutNaN(v.Field(i))
		}
	case reflect.Slice:
		for i := range v.Len() {
			withoutNaN(v.Index(i))
		}
	case reflect.Map:
		v.SetZero()
	case reflect.Pointer:
		if !v.IsNil() {
			withoutNaN(v.Elem())
		}
	case reflect.Float64:
		if math.IsNaN(v.Float()) {
			v.SetFloat(-1)
		}
	}
}

// TestUnpackRefuses: Unpack rejects input that the encoder never writes, and skips fields of later versions.
func TestUnpackRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"\x81\xa3rid\xc4\x01m", "byte 5: a string is expected, not 0xc4"},
		{"\x81\xa3rid\xc0", "byte 5: a string is expected, not 0xc0"},
		{"\x81\xa2at\xcb\x00\x00\x00\x00\x00\x00\x00\x00", "byte 4: an integer is expected, not 0xcb"},
		{"\x81\xa2at\xcf\xff\xff\xff\xff\xff\xff\xff\xff", "a number that int64 cannot hold"},
		{"\x81\xa2xv\xcd\x01\x00", "a number that uint8 cannot hold"},
		{"\x81\xa2xv\xff", "a number that uint8 cannot hold"},
		{"\x81\xa2im\x01", "a float is expected"},
		{"\x81\xa2tx\xdb\xff\xff\xff\xff", "a string of 4294967295 bytes, of which 0 are there"},
		{"\x81\xa2xe\xdd\xff\xff\xff\xff", "a list of 4294967295 elements in 0 bytes"},
		{"\xdf\xff\xff\xff\xff", "a map of 4294967295 elements in 0 bytes"},
		{"\x82\xa2xe\x90\xa2xe\x90", "a second list"},
		{"\x81\x01\x01", "a string is expected, not 0x1"},
		{"\xc0", "a map is expected, not 0xc0"},
		{"\x90", "a map is expected, not 0x90"},
		{"\x80\x80", "1 bytes too many"},
		{"\x81\xa1z\xc1", "a value is expected, not 0xc1"},
		{"\x81\xa1z\xc7\x01\x01\x01", "a value is expected, not 0xc7"},
		{"\x81\xa1z" + strings.Repeat("\x91", 1<<20), "a list of 1 elements in 0 bytes"},
		{"", "the input ends where a map is to come"},
		{"\x81\xa1z\x92\x81\xa1a\xd5\x01\x02\x03\xca\x01\x02\x03\x04", ""},
		{"\x81\xa1z" + strings.Repeat("\x91", 1<<20) + "\xc0", ""},
	} {
		err := Unpack([]byte(c.in), &Remember{})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: %v, want %q", c.in, err, c.want)
		}
	}
}

// FuzzUnpack: the library's decoder accepts every input that Unpack accepts, and decodes the same value.
func FuzzUnpack(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i, v := range stored {
		for range 4 {
			full := fresh(v)
			if fill(rng, reflect.ValueOf(full).Elem()); len(encoded(full)) < 2000 {
				f.Add(uint8(i), encoded(full))
			}
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, in []byte) {
		got := fresh(stored[int(which)%len(stored)])
		if Unpack(in, got) == nil {
			asDecoder(t, in, got)
		}
	})
}

// fill sets some of the fields to values of many sizes.
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
