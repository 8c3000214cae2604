package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// timeNames are the fields of answers that hold a time, as the table of operations describes them.
var timeNames = sync.OnceValue(func() map[string]bool {
	names, shapes := map[string]bool{}, map[string]field.Object{}
	note := func(o field.Object) {
		for _, f := range o {
			if f.Kind.Time {
				names[f.Name] = true
			}
		}
	}
	for _, streamed := range []reflect.Type{reflect.TypeFor[api.LogLine](), reflect.TypeFor[api.Change]()} {
		note(field.Of(streamed))
	}
	for _, op := range api.Ops {
		note(op.Gives())
		op.Gives().Shapes(shapes, true)
	}
	for _, o := range shapes {
		note(o)
	}
	return names
})

// freeNames are the fields of answers that hold what clients made up, as the table of operations describes them: a
// name in them is not a name of ours.
var freeNames = map[string]bool{"metadata": true, "attributes": true}

// withTimes is JSON whose times are RFC 3339 in UTC: a gateway answers in Unix seconds, and repeats some of them as
// X_iso, which is left out. The order of fields stays. What is not JSON stays as it is.
func withTimes(raw []byte) []byte {
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := rewrite(d, &out, false, false); err != nil {
		return raw
	}
	return out.Bytes()
}

func rewrite(d *json.Decoder, out *bytes.Buffer, isTime, free bool) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch n := t.(type) {
	case json.Delim:
		return rewriteAll(d, out, n, free)
	case json.Number:
		if x, err := n.Float64(); isTime && err == nil {
			t = time.UnixMicro(int64(math.Round(x * 1e6))).UTC().Format(time.RFC3339Nano)
		}
	}
	out.Write(kit.Must(t)) // it was read from JSON
	return nil
}

// rewriteAll goes on behind the beginning of an object or a list; in a free one all names are a client's.
func rewriteAll(d *json.Decoder, out *bytes.Buffer, begin json.Delim, free bool) error {
	out.WriteRune(rune(begin))
	for first := true; d.More(); {
		isTime, within := false, free
		if begin == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name := t.(string) // an object's names are strings
			if plain, ok := strings.CutSuffix(name, "_iso"); ok && !free && timeNames()[plain] {
				if err := d.Decode(new(json.RawMessage)); err != nil {
					return err
				}
				continue
			}
			isTime, within = !free && timeNames()[name], free || freeNames[name]
			if !first {
				out.WriteByte(',')
			}
			out.Write(kit.Must(name))
			out.WriteByte(':')
		} else if !first {
			out.WriteByte(',')
		}
		first = false
		if err := rewrite(d, out, isTime, within); err != nil {
			return err
		}
	}
	end, err := d.Token()
	if err != nil {
		return err
	}
	out.WriteRune(rune(end.(json.Delim)))
	return nil
}
