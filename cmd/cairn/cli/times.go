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

// timeFields returns the names of all answer fields that hold a time, from the table of operations.
var timeFields = sync.OnceValue(func() map[string]bool {
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

// opaqueFields are the answer fields with clients' own data. Names inside them are not field names of Cairn.
var opaqueFields = map[string]bool{"metadata": true, "attributes": true}

// formatTimes rewrites the times in JSON from Unix seconds, as the gateway answers, to RFC 3339 in UTC. It drops the
// fields X_iso, which repeat a time X. It keeps the order of fields, and returns text that is not JSON unchanged.
func formatTimes(raw []byte) []byte {
	var out bytes.Buffer
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := rewriteValue(d, &out, false, false); err != nil {
		return raw
	}
	return out.Bytes()
}

// rewriteValue copies one JSON value. With isTime, a number is a time; with free, the value is a client's own data.
func rewriteValue(d *json.Decoder, out *bytes.Buffer, isTime, free bool) error {
	t, err := d.Token()
	if err != nil {
		return err
	}
	switch n := t.(type) {
	case json.Delim:
		return rewriteContainer(d, out, n, free)
	case json.Number:
		if x, err := n.Float64(); isTime && err == nil {
			t = time.UnixMicro(int64(math.Round(x * 1e6))).UTC().Format(time.RFC3339Nano)
		}
	}
	out.Write(kit.MustJSON(t)) // cannot fail: the token came from JSON
	return nil
}

// rewriteContainer copies the rest of an object or a list after its opening delimiter. With free, all names in it are
// a client's, so no field counts as a time.
func rewriteContainer(d *json.Decoder, out *bytes.Buffer, begin json.Delim, free bool) error {
	out.WriteRune(rune(begin))
	for first := true; d.More(); {
		isTime, within := false, free
		if begin == '{' {
			t, err := d.Token()
			if err != nil {
				return err
			}
			name := t.(string) // in an object, the decoder yields a string here
			if plain, ok := strings.CutSuffix(name, "_iso"); ok && !free && timeFields()[plain] {
				if err := d.Decode(new(json.RawMessage)); err != nil {
					return err
				}
				continue
			}
			isTime, within = !free && timeFields()[name], free || opaqueFields[name]
			if !first {
				out.WriteByte(',')
			}
			out.Write(kit.MustJSON(name))
			out.WriteByte(':')
		} else if !first {
			out.WriteByte(',')
		}
		first = false
		if err := rewriteValue(d, out, isTime, within); err != nil {
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
