package oplog

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/cairndb/cairn/oplog/filter"
)

// Bounds of stored values. Surfaces check them before they propose, the leader checks entries that members forward,
// and Apply checks again: the bounds are part of Apply, and must be the same on every replica.
const (
	MaxKey      = 16 << 10 // bytes of the key of a row, as operations make it, and of a string that has no other bound
	MaxName     = 512      // bytes of a namespace, a domain, an entity and the like
	MaxText     = 1 << 20  // bytes of a text, or of a reason or note on one
	MaxMetadata = 1 << 20
	MaxCapture  = 15 << 20              // bytes of the payload of a raw event
	MaxPayload  = MaxText + MaxMetadata // bytes of an operation from a YantrikDB peer, and of byte strings without another bound
	MaxDim      = 8192                  // dimensions of a vector
	MaxList     = MaxOps                // elements of a list
	MaxNumber   = 1e100                 // magnitude of a number with a fraction: no sum of such numbers is infinite
)

// The times that may be stored begin with the year 0 and end before the year 10000: no other has a spelling in JSON.
const (
	FirstTime Time = -62_167_219_200e6
	LastTime  Time = 253_402_300_800e6 - 1
)

// sizes maps the names in the tag max to bounds. A field without the tag has its type's bound.
var sizes = map[string]int{"name": MaxName, "text": MaxText, "metadata": MaxMetadata, "attributes": filter.MaxSize, "capture": MaxCapture}

// A bound returns an error for a value that may not be stored. A nil bound allows every value.
type bound func(p unsafe.Pointer, field string) *Error

// Check rejects an operation with a value that may not be stored.
func Check(op Op) *Error {
	t := reflect.TypeOf(op).Elem()
	b, ok := bounds.Load(t)
	if !ok {
		b, _ = bounds.LoadOrStore(t, boundOf(t, ""))
	}
	if check := b.(bound); check != nil {
		return check(reflect.ValueOf(op).UnsafePointer(), t.Name())
	}
	return nil
}

var bounds sync.Map // reflect.Type to bound

// boundOf returns the bound of a type's values in a field with a tag. It panics for an unknown tag; a test of all
// kinds would find it.
func boundOf(t reflect.Type, tag string) bound {
	size, tagged := sizes[tag]
	if tag != "" && !tagged {
		panic(fmt.Sprintf("oplog: no bound is called %q", tag))
	}
	switch t {
	case reflect.TypeFor[Vector]():
		return func(p unsafe.Pointer, field string) *Error { return checkVector(*(*Vector)(p), field) }
	case reflect.TypeFor[Time]():
		return func(p unsafe.Pointer, field string) *Error {
			if at := *(*Time)(p); at < FirstTime || at > LastTime {
				return Errorf(Invalid, "%s is a time outside of the years 0 to 9999", field)
			}
			return nil
		}
	}
	switch t.Kind() {
	case reflect.String:
		if !tagged {
			size = MaxKey
		}
		return func(p unsafe.Pointer, field string) *Error { return checkSize(len(*(*string)(p)), size, field) }
	case reflect.Float64:
		return func(p unsafe.Pointer, field string) *Error {
			if x := *(*float64)(p); !(math.Abs(x) <= MaxNumber) {
				return Errorf(Invalid, "%s is not a finite number of up to %v", field, MaxNumber)
			}
			return nil
		}
	case reflect.Slice:
		if t.Elem().Kind() != reflect.Uint8 {
			return boundOfList(t, tag)
		}
		if !tagged {
			size = MaxPayload
		}
		return func(p unsafe.Pointer, field string) *Error { return checkBytes(*(*[]byte)(p), size, tag, field) }
	case reflect.Pointer:
		of := boundOf(t.Elem(), tag)
		return func(p unsafe.Pointer, field string) *Error {
			if v := *(*unsafe.Pointer)(p); v != nil && of != nil {
				return of(v, field)
			}
			return nil
		}
	case reflect.Struct:
		return boundOfStruct(t)
	}
	return nil
}

func boundOfList(t reflect.Type, tag string) bound {
	of, size := boundOf(t.Elem(), tag), t.Elem().Size()
	return func(p unsafe.Pointer, field string) *Error {
		list := reflect.NewAt(t, p).Elem()
		if list.Len() > MaxList {
			return Errorf(TooLarge, "%s of %d is over %d", field, list.Len(), MaxList)
		}
		for i := 0; i < list.Len() && of != nil; i++ {
			if err := of(unsafe.Add(list.UnsafePointer(), uintptr(i)*size), field); err != nil {
				return err
			}
		}
		return nil
	}
}

func boundOfStruct(t reflect.Type) bound {
	all := innerBounds(t, t.Name(), 0)
	return func(p unsafe.Pointer, _ string) *Error {
		for i := range all {
			if err := all[i].check(unsafe.Add(p, all[i].at), all[i].name); err != nil {
				return err
			}
		}
		return nil
	}
}

// An innerBound is the bound of a field and the name of the field for errors.
type innerBound struct {
	check bound
	at    uintptr
	name  string
}

// innerBounds returns the bounds of a struct's fields, including those of embedded structs.
func innerBounds(t reflect.Type, name string, at uintptr) (all []innerBound) {
	for i := range t.NumField() {
		f := t.Field(i)
		if strings.HasPrefix(f.Tag.Get("msgpack"), "-") {
			continue
		}
		if f.Anonymous {
			all = append(all, innerBounds(f.Type, name, at+f.Offset)...)
		} else if check := boundOf(f.Type, f.Tag.Get("max")); check != nil {
			all = append(all, innerBound{check, at + f.Offset, name + "." + f.Name})
		}
	}
	return all
}

// checkBytes rejects bytes that are too long or invalid for their tag.
func checkBytes(b []byte, size int, tag, field string) *Error {
	switch err := checkSize(len(b), size, field); {
	case err != nil:
		return err
	case tag == "metadata" && len(b) > 0 && !json.Valid(b):
		return Errorf(Invalid, "%s is not valid JSON", field)
	case tag == "attributes":
		if err := filter.Check(b); err != nil {
			return Errorf(Invalid, "%s: %s", field, err)
		}
	}
	return nil
}

// CheckNames rejects a name that is too long to be stored.
func CheckNames(names ...string) error {
	for _, n := range names {
		if err := checkSize(len(n), MaxName, "name"); err != nil {
			return err
		}
	}
	return nil
}

func checkSize(n, most int, field string) *Error {
	if n > most {
		return Errorf(TooLarge, "%s of %d bytes is over %d", field, n, most)
	}
	return nil
}

// checkVector rejects a vector that is malformed or has a value that is not finite. The state compares its dimension
// with the database's.
func checkVector(v Vector, field string) *Error {
	if len(v)%4 != 0 || len(v) > 4*MaxDim {
		return Errorf(Invalid, "%s of %d bytes is not a vector of up to %d dimensions", field, len(v), MaxDim)
	}
	for i := 0; i < len(v); i += 4 {
		if exponent := uint32(v[i+3])<<8 | uint32(v[i+2]); exponent&0x7f80 == 0x7f80 { // NaN and the infinities
			return Errorf(Invalid, "%s holds a number that is not finite", field)
		}
	}
	return nil
}
