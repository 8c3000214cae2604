package filter_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/filter"
	"pgregory.net/rapid"
)

// record returns the function that a filter calls for values.
func record(t interface{ Fatal(...any) }, raw string) func(name string) filter.Value {
	list, err := filter.Attributes([]byte(raw))
	if err != nil {
		t.Fatal(raw, err)
	}
	return func(name string) filter.Value {
		for _, a := range list {
			if a.Name == name {
				return a.Value
			}
		}
		switch name {
		case "@namespace":
			return filter.TextOrNone("work")
		case "@domain":
			return filter.TextOrNone("")
		case "@importance":
			return filter.Number(.5)
		case "@created_at", "@updated_at":
			return filter.Time(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).UnixMicro())
		}
		return filter.Value{}
	}
}

func passes(t interface{ Fatal(...any) }, attributes, raw string) bool {
	f, err := filter.Parse([]byte(raw))
	if err != nil {
		t.Fatal(raw, err)
	}
	return f.Match(record(t, attributes))
}

// TestFilters checks a case for each rule in the package comment.
func TestFilters(t *testing.T) {
	t.Parallel()
	const with = `{"project":"atlas","priority":2,"done":false,"due":"2026-03-01T13:00:00+01:00","tags":["red","2026-03-01"],"none":[]}`
	for _, tc := range []struct {
		filter string
		want   bool
	}{
		{`{}`, true},
		{`{"project":"atlas"}`, true},
		{`{"project":"Atlas"}`, false},
		{`{"project":"atlas","priority":3}`, false},
		{`{"priority":{"gte":2,"lt":5}}`, true},
		{`{"priority":{"gt":2}}`, false},
		{`{"priority":{"lte":2}}`, true},
		{`{"priority":"2"}`, false},
		{`{"priority":{"gt":"1"}}`, false},
		{`{"done":false}`, true},
		{`{"done":0}`, false},
		{`{"due":"2026-03-01T12:00:00Z"}`, true},
		{`{"due":{"gte":"2026-03-01"}}`, true},
		{`{"due":{"lt":"2026-03-01T12:00:00.000001Z"}}`, true},
		{`{"due":{"gt":"2"}}`, true}, // the value in the filter is not a time, so bytes are compared
		{`{"project":{"lt":"2026-03-01"}}`, false},
		{`{"tags":"red"}`, true},
		{`{"tags":["red","2026-03-01"]}`, true},
		{`{"tags":["red"]}`, false},
		{`{"tags":{"contains":"red"}}`, true},
		{`{"tags":{"contains":"re"}}`, false},
		{`{"tags":{"prefix":"re"}}`, true},
		{`{"tags":{"gt":"2026-02-01"}}`, true},
		{`{"tags":{"in":["blue","red"]}}`, true},
		{`{"tags":{"nin":["blue","red"]}}`, false},
		{`{"none":{"exists":true}}`, true},
		{`{"none":{"ne":"x"}}`, true},
		{`{"none":[]}`, true},
		{`{"project":{"contains":"tla"}}`, true},
		{`{"project":{"icontains":"TLA"}}`, true},
		{`{"project":{"icontains":"x"}}`, false},
		{`{"tags":{"icontains":"RED"}}`, true},
		{`{"tags":{"icontains":"RE"}}`, false},
		{`{"priority":{"icontains":"2"}}`, false},
		{`{"project":{"prefix":"at"}}`, true},
		{`{"project":{"prefix":"tl"}}`, false},
		{`{"priority":{"contains":"2"}}`, false},
		{`{"gone":{"ne":"x"}}`, true},
		{`{"gone":{"nin":["x"]}}`, true},
		{`{"gone":{"exists":false}}`, true},
		{`{"gone":{"exists":true}}`, false},
		{`{"gone":{"lt":9}}`, false},
		{`{"project":{"in":[]}}`, false},
		{`{"not":{"project":"atlas"}}`, false},
		{`{"or":[{"project":"x"},{"and":[{"done":false},{"not":{"priority":7}}]}]}`, true},
		{`{"or":[{"project":"x"},{}]}`, true},
		{`{"@namespace":"work"}`, true},
		{`{"@domain":{"exists":false}}`, true},
		{`{"@importance":{"gte":0.5}}`, true},
		{`{"@created_at":{"gte":"2026-03-01","lt":"2026-03-02"}}`, true},
		{`{"@created_at":{"lt":1772366400}}`, false},
		{`{"@created_at":{"lte":1772366400}}`, true},
		{`{"@updated_at":{"gt":"2026-03-01"}}`, true},
	} {
		if got := passes(t, with, tc.filter); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.filter, got, tc.want)
		}
	}
	if f, err := filter.Parse([]byte("null")); f != nil || err != nil {
		t.Error(f, err)
	}
}

func TestRefusedFilters(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ filter, want string }{
		{`[]`, "want an object"},
		{`{"a":1} {}`, "want one object"},
		{`{"a":`, "not valid JSON"},
		{`{"a":1,"a":2}`, `"a" comes twice`},
		{`{"a":{"like":"x"}}`, `"like" is not an operator: want eq, ne, in`},
		{`{"a":{"$eq":"x"}}`, `"$eq" is not an operator`},
		{`{"a":{}}`, `"a": want a value, or operators`},
		{`{"a":null}`, "use exists"},
		{`{"a":{"gt":true}}`, "want a number, a string or a date"},
		{`{"a":{"gt":["x"]}}`, "want a number, a string or a date"},
		{`{"a":{"in":"x"}}`, "want a list of values"},
		{`{"a":{"in":null}}`, "want a list of values"},
		{`{"a":{"exists":1}}`, "want true or false"},
		{`{"a":{"contains":1}}`, "want a string"},
		{`{"a":{"icontains":["x"]}}`, "want a string"},
		{`{"a":[1]}`, "want strings in a list"},
		{`{"a":[null]}`, "want strings in a list"},
		{`{"a":9007199254740993}`, "send it as a string"},
		{`{"a":1e999}`, "not finite"},
		{`{"@status":"x"}`, `"@status" is not a field to filter by: want one of @agent`},
		{`{"@created_at":"yesterday"}`, "want a date"},
		{`{"@created_at":{"lt":9999999999999}}`, "want a date"},
		{`{"@created_at":{"prefix":"2026"}}`, "values are strings"},
		{`{"@importance":"high"}`, "want a number"},
		{`{"@domain":3}`, "want a string"},
		{`{"and":{}}`, "and: want a list of filters"},
		{`{"or":[]}`, "or: want a list of filters"},
		{`{"not":[]}`, "not: want a filter"},
		{`{"a":1,"not":1}`, "not: want a filter"},
		{`{" ":1}`, "not the name of an attribute"},
		{strings.Repeat(`{"not":`, 17) + `{}` + strings.Repeat(`}`, 17), "deeper than 16"},
		{`{"or":[` + strings.Repeat(`{"a":1},`, 100) + `{"a":1}]}`, "more than 100 operators"},
		{`{"a":{"in":[` + strings.Repeat(`1,`, 1000) + `1]}}`, "more than 1000 values"},
		{`{"a":"` + strings.Repeat("x", filter.MaxFilter) + `"}`, "are over 65536"},
	} {
		if f, err := filter.Parse([]byte(tc.filter)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: %v, %v; want %q", tc.filter, f, err, tc.want)
		}
	}
}

func TestCanonical(t *testing.T) {
	t.Parallel()
	got, err := filter.Canonical([]byte(` { "b" : [ "y", "<x>" ], "a" : 1.50e1, "d":-0, "c" : true, "e":"é\u0041" } `))
	if want := `{"a":15,"b":["y","<x>"],"c":true,"d":0,"e":"éA"}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
	for _, none := range []string{"", "null", "{}", " {} "} {
		if got, err := filter.Canonical([]byte(none)); got != nil || err != nil {
			t.Errorf("%q: %q, %v", none, got, err)
		}
	}
	if err := filter.Check([]byte(`{"a":{}}`)); err == nil {
		t.Error("an object as a value passes")
	}
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprintf(`"n%d":1`, i)
	}
	for _, tc := range []struct{ raw, want string }{
		{`{"a":null}`, `"a" is null`},
		{`{"a":{"b":1}}`, "got an object"},
		{`{"a":[1]}`, "want strings in a list"},
		{`{"and":1}`, "not the name of an attribute"},
		{`{"@created_at":1}`, "not the name of an attribute"},
		{`{"":1}`, "not the name of an attribute"},
		{`{"` + strings.Repeat("n", 129) + `":1}`, "not the name of an attribute"},
		{`{` + strings.Join(many, ",") + `}`, "65 names are over 64"},
		{`{"a":"` + strings.Repeat("x", filter.MaxSize) + `"}`, "are over 16384"},
		{`{"a":"` + strings.Repeat("x", 4*filter.MaxSize) + `"}`, "are over 16384"},
		{`{"a":1`, "not valid JSON"},
		{`"a"`, "want an object"},
	} {
		if _, err := filter.Canonical([]byte(tc.raw)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: %v, want %q", tc.raw, err, tc.want)
		}
	}
}

func TestShared(t *testing.T) {
	t.Parallel()
	got := filter.Shared([]byte(`{"a":1,"b":"x","c":["y"]}`), []byte(`{"a":1,"b":"z","c":["y"]}`), []byte(`{"a":1,"c":["y"],"d":true}`))
	if want := `{"a":1,"c":["y"]}`; string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := filter.Shared([]byte(`{"a":1}`), nil); got != nil {
		t.Errorf("%s", got)
	}
}

// naive evaluates a filter directly from its JSON, by the rules of the package comment.
func naive(filter map[string]any, of map[string]any) bool {
	for name, x := range filter {
		ok := true
		switch name {
		case "and":
			for _, part := range x.([]any) {
				ok = ok && naive(part.(map[string]any), of)
			}
		case "or":
			ok = slices.ContainsFunc(x.([]any), func(part any) bool { return naive(part.(map[string]any), of) })
		case "not":
			ok = !naive(x.(map[string]any), of)
		default:
			value, there := of[name]
			tests, many := x.(map[string]any)
			if !many {
				tests = map[string]any{"eq": x}
			}
			for op, want := range tests {
				ok = ok && naiveTest(op, value, there, want)
			}
		}
		if !ok {
			return false
		}
	}
	return true
}

// lower returns a value with its strings in lower case.
func lower(value any) any {
	switch v := value.(type) {
	case string:
		return strings.ToLower(v)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = lower(v[i])
		}
		return all
	}
	return value
}

func naiveTest(op string, value any, there bool, want any) bool {
	switch op {
	case "exists":
		return there == want.(bool)
	case "ne":
		return !naiveTest("eq", value, there, want)
	case "nin":
		return !naiveTest("in", value, there, want)
	case "in":
		return slices.ContainsFunc(want.([]any), func(one any) bool { return naiveTest("eq", value, there, one) })
	}
	if op == "icontains" {
		op = "contains"
		value, want = lower(value), lower(want)
	}
	if list, ok := value.([]any); ok {
		if reflect.TypeOf(want) == reflect.TypeOf(value) {
			return reflect.DeepEqual(list, want)
		}
		if op == "contains" {
			op = "eq"
			return slices.Contains(list, want)
		}
		return slices.ContainsFunc(list, func(s any) bool { return naiveTest(op, s, true, want) })
	}
	if !there || reflect.TypeOf(value) != reflect.TypeOf(want) {
		return false
	}
	if op == "contains" {
		s, ok := value.(string)
		return ok && strings.Contains(s, want.(string))
	}
	if op == "prefix" {
		s, ok := value.(string)
		return ok && strings.HasPrefix(s, want.(string))
	}
	var less, same bool
	switch v := value.(type) {
	case bool:
		return op == "eq" && v == want
	case float64:
		less, same = v < want.(float64), v == want
	case string:
		less, same = v < want.(string), v == want
		if at, err := time.Parse("2006-01-02", want.(string)); err == nil {
			mine, err := time.Parse("2006-01-02", v)
			if err != nil {
				return false
			}
			less, same = mine.Before(at), mine.Equal(at)
		}
	}
	return map[string]bool{"eq": same, "gt": !less && !same, "gte": !less, "lt": less, "lte": less || same}[op]
}

var (
	someName   = rapid.SampledFrom([]string{"a", "b", "c"})
	someText   = rapid.SampledFrom([]any{"", "x", "xY", "y", "Y", "2026-01-01", "2026-02-01"})
	someNumber = rapid.SampledFrom([]any{0., 1., 1.5, -2.})
	someList   = rapid.Custom(func(t *rapid.T) any { return rapid.SliceOfN(someText, 0, 3).Draw(t, "list") })
	someValue  = rapid.OneOf(someText, someNumber, rapid.SampledFrom([]any{true, false}), someList)
	someTest   = rapid.Custom(func(t *rapid.T) any {
		op := rapid.SampledFrom([]string{"eq", "ne", "in", "nin", "gt", "gte", "lt", "lte", "exists", "contains",
			"icontains", "prefix"}).Draw(t, "op")
		switch op {
		case "in", "nin":
			return map[string]any{op: rapid.SliceOfN(someValue, 0, 3).Draw(t, "values")}
		case "gt", "gte", "lt", "lte":
			return map[string]any{op: rapid.OneOf(someText, someNumber).Draw(t, "value")}
		case "exists":
			return map[string]any{op: rapid.Bool().Draw(t, "exists")}
		case "contains", "icontains", "prefix":
			return map[string]any{op: someText.Draw(t, "text")}
		}
		return map[string]any{op: someValue.Draw(t, "value")}
	})
)

func someFilter(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		leaf := rapid.Custom(func(t *rapid.T) any {
			return map[string]any{someName.Draw(t, "name"): rapid.OneOf(someValue, someTest).Draw(t, "test")}
		})
		if depth == 0 {
			return leaf.Draw(t, "leaf")
		}
		inner := someFilter(depth - 1)
		switch rapid.IntRange(0, 3).Draw(t, "part") {
		case 0:
			return map[string]any{rapid.SampledFrom([]string{"and", "or"}).Draw(t, "op"): rapid.SliceOfN(inner, 1, 3).Draw(t, "of")}
		case 1:
			return map[string]any{"not": inner.Draw(t, "not")}
		}
		f := map[string]any{}
		maps.Copy(f, leaf.Draw(t, "leaf").(map[string]any))
		maps.Copy(f, inner.Draw(t, "more").(map[string]any))
		return f
	})
}

// TestFiltersMeanWhatTheySay compares random filters on random attributes with the naive evaluator.
func TestFiltersMeanWhatTheySay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		of := rapid.MapOf(someName, someValue).Draw(t, "attributes")
		f := someFilter(3).Draw(t, "filter")
		attributes, _ := json.Marshal(of)
		raw, _ := json.Marshal(f)
		want := naive(f.(map[string]any), of)
		if got := passes(t, string(attributes), string(raw)); got != want {
			t.Fatalf("%s on %s: %v, want %v", raw, attributes, got, want)
		}
		canonical, err := filter.Canonical(attributes)
		if err != nil || filter.Check(canonical) != nil {
			t.Fatalf("%s: %s, %v", attributes, canonical, err)
		}
	})
}

// TestTimesTooFar: a number outside the range of times, such as one in milliseconds, is rejected and not read as
// another time.
func TestTimesTooFar(t *testing.T) {
	t.Parallel()
	now := filter.Time(1_700_000_000_000_000)
	for raw, want := range map[string]string{`{"@created_at":{"lt":1.8e9}}`: "passes",
		`{"@created_at":{"gte":-6e10}}`: "passes", `{"@created_at":{"gt":2.5e11}}`: "fails",
		`{"@created_at":{"gt":1.7e12}}`: "refused", `{"@created_at":{"gte":-9e12}}`: "refused",
		`{"@created_at":{"gte":1.7e15}}`: "refused", `{"@updated_at":{"lt":1.7e15}}`: "refused", `{"@created_at":-9.3e12}`: "refused"} {
		got := "refused"
		if f, err := filter.Parse([]byte(raw)); err == nil {
			if got = "fails"; f.Match(func(string) filter.Value { return now }) {
				got = "passes"
			}
		} else if !strings.Contains(err.Error(), "want a date") {
			t.Errorf("%s: %v", raw, err)
		}
		if got != want {
			t.Errorf("%s %s, want it %s", raw, got, want)
		}
	}
}

// TestTimesAsTheyAreAnswered: a time in seconds, as answers contain it, means the same time in a filter.
func TestTimesAsTheyAreAnswered(t *testing.T) {
	t.Parallel()
	for at := int64(2_147_483_666_492_000); at < 2_147_483_666_493_000; at++ {
		seconds, err := json.Marshal(float64(at) / 1e6)
		if err != nil {
			t.Fatal(err)
		}
		for _, op := range []string{"eq", "lte", "gte"} {
			f, err := filter.Parse(fmt.Appendf(nil, `{"@created_at":{%q:%s}}`, op, seconds))
			if err != nil {
				t.Fatal(err)
			}
			if !f.Match(func(string) filter.Value { return filter.Time(at) }) {
				t.Fatalf("%d is not %s %s", at, op, seconds)
			}
		}
	}
}
