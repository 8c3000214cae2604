package field

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
)

const shorthand = "text,content:string! importance:unit valence:signed half_life:hours weight:weight top_k:integer[0..] as_of:date time_window:window " +
	"tags:[]string embedding:[]number order:string{asc,desc} explain:boolean metadata:any settings:object memories:[]Draft"

// parse reads fields separated by blanks, each name[,other...]:kind[mark]. The mark says what may be missing: "!"
// must be there, "?" is there and may be null, "~" is idle.
func parse(s string) Object {
	var o Object
	for _, w := range strings.Fields(s) {
		i := strings.IndexByte(w, ':')
		if i <= 0 {
			panic("field: " + w + " has no kind")
		}
		names, kind := strings.Split(w[:i], ","), w[i+1:]
		kind, must := strings.CutSuffix(kind, "!")
		kind, null := strings.CutSuffix(kind, "?")
		kind, idle := strings.CutSuffix(kind, "~")
		o = append(o, Field{Name: names[0], Others: names[1:], Kind: kindOf(kind), Must: must || null, Nullable: null, Idle: idle})
	}
	return o
}

// Valid objects, and the errors for invalid ones.
func TestCheck(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"text":"x"}`:    "",
		`{"content":"x"}`: "",
		`{"text":"x","importance":0,"valence":-1,"half_life":0.5,"weight":0,"top_k":5.0,"tags":[],"embedding":[1,-2.5e3,0],"order":"asc","explain":false,"metadata":"any","settings":{}}`: "",
		`{"text":"x","importance":null,"as_of":null,"time_window":null,"nothing":null}`:                                                                                                   "unknown field 'nothing'",
		`{"text":"x","as_of":"2020-01-01","time_window":["2020-01-01",1600000000]}`:                                                                                                       "",
		`{"text":"x","as_of":"2020-01-01T10:00:00.5+02:00","time_window":[null,"2020-01-01"]}`:                                                                                            "",
		`{"text":"x","as_of":0,"time_window":[0,1]}`:                                                                                                                                      "",
		`{}`:                                                     "missing 'text'",
		`{"text":null}`:                                          "missing 'text'",
		`{"text":7}`:                                             "text: want a string, got 7",
		`{"text":"x","importanse":0.5}`:                          "unknown field 'importanse': did you mean 'importance'?",
		`{"text":"x","Importance":0.5}`:                          "unknown field 'Importance': did you mean 'importance'?",
		`{"text":"x","importance":9}`:                            "importance: want a number from 0 to 1, got 9",
		`{"text":"x","importance":"high"}`:                       `importance: want a number from 0 to 1, got "high"`,
		`{"text":"x","importance":1e999}`:                        "importance: want a number from 0 to 1, got 1e999",
		`{"text":"x","valence":-1.01}`:                           "valence: want a number from -1 to 1, got -1.01",
		`{"text":"x","half_life":-5}`:                            "half_life: want a number above 0, up to 1000000, got -5",
		`{"text":"x","half_life":0}`:                             "half_life: want a number above 0, up to 1000000, got 0",
		`{"text":"x","weight":-1}`:                               "weight: want a number of at least 0, got -1",
		`{"text":"x","top_k":1.5}`:                               "top_k: want a whole number of at least 0, got 1.5",
		`{"text":"x","top_k":-1}`:                                "top_k: want a whole number of at least 0, got -1",
		`{"text":"x","top_k":[1]}`:                               "top_k: want a whole number of at least 0, got [1]",
		`{"text":"x","tags":["a",7]}`:                            "tags[1]: want a string, got 7",
		`{"text":"x","tags":"a"}`:                                `tags: want a list of strings, got "a"`,
		`{"text":"x","embedding":[1,"2"]}`:                       `embedding[1]: want a number, got "2"`,
		`{"text":"x","order":"up"}`:                              `order: want one of asc, desc, got "up"`,
		`{"text":"x","explain":"yes"}`:                           `explain: want true or false, got "yes"`,
		`{"text":"x","settings":[]}`:                             "settings: want an object, got []",
		`{"text":"x","memories":[{},7]}`:                         "memories[1]: want an object, got 7",
		`{"text":"x","as_of":"yesterday"}`:                       "as_of: want " + WantDate + `, got "yesterday"`,
		`{"text":"x","as_of":"1600000000"}`:                      "as_of: want " + WantDate + `, got "1600000000"`,
		`{"text":"x","as_of":1600000000000}`:                     "as_of: want " + WantDate + ", got 1600000000000",
		`{"text":"x","as_of":"2020-01-01T10:00:00"}`:             "as_of: want " + WantDate + `, got "2020-01-01T10:00:00"`,
		`{"text":"x","as_of":"2020-13-01"}`:                      "as_of: want " + WantDate + `, got "2020-13-01"`,
		`{"text":"x","as_of":{"at":1}}`:                          "as_of: want " + WantDate + ", got an object",
		`{"text":"x","time_window":1600000000}`:                  "time_window: want [from, to]: two dates in order (RFC 3339 or Unix seconds), got 1600000000",
		`{"text":"x","time_window":[1600000000]}`:                "time_window: want [from, to]: two dates in order (RFC 3339 or Unix seconds), got [1600000000]",
		`{"text":"x","time_window":["2021-01-01","2020-01-01"]}`: `time_window: want [from, to]: two dates in order (RFC 3339 or Unix seconds), got ["2021-01-01","2020-01-01"]`,
		`{"text":"x","time_window":{"from":1,"to":2}}`:           "time_window: want [from, to]: two dates in order (RFC 3339 or Unix seconds), got an object",
		`{"text":"x","metadata":{"` + strings.Repeat("a", 9) + `":[1,"]",{"b":"\"},"}]}}`: "",
	} {
		body := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(in), &body); err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		said := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		if got := said(parse(shorthand).Check(body, false)); got != want {
			t.Errorf("%s:\n got %q\nwant %q", in, got, want)
		}
		lenient := ""
		if strings.HasPrefix(want, "as_of") || strings.HasPrefix(want, "time_window") || strings.HasPrefix(want, "missing") ||
			strings.HasPrefix(want, "text: ") {
			lenient = want
		}
		if got := said(parse(shorthand).Check(body, true)); got != lenient {
			t.Errorf("%s, lenient: got %q, want %q", in, got, lenient)
		}
	}
}

// Parameters are texts.
func TestValues(t *testing.T) {
	t.Parallel()
	o := parse("limit:integer[0..] days:number[0..36500] before:date active:boolean order:string{asc,desc} name:string!")
	for in, want := range map[string]string{
		"": "",
		"limit=5&days=0.5&before=2020-01-01&active=1": "",
		"limit=&before=&active=":                      "",
		"before=1600000000.5":                         "",
		"limit=many":                                  `limit: want a whole number of at least 0, got "many"`,
		"limit=-1":                                    `limit: want a whole number of at least 0, got "-1"`,
		"days=NaN":                                    `days: want a number from 0 to 36500, got "NaN"`,
		"active=maybe":                                `active: want true or false, got "maybe"`,
		"order=up":                                    `order: want one of asc, desc, got "up"`,
		"before=soon":                                 "before: want " + WantDate + `, got "soon"`,
		"limt=5":                                      "unknown field 'limt': did you mean 'limit'?",
	} {
		params, err := url.ParseQuery(in)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if err := o.Values(params, false); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%s:\n got %q\nwant %q", in, got, want)
		}
	}
}

// All forms of a date give the same instant. The epoch is not the zero time, which means no date.
func TestDate(t *testing.T) {
	t.Parallel()
	at := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, s := range []string{"2020-01-01", "2020-01-01T00:00:00Z", "2020-01-01T02:00:00+02:00", "1577836800", " 1577836800.0 "} {
		if got, err := ParseDate(s); err != nil || !got.Equal(at) {
			t.Errorf("%q: %v %v", s, got, err)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1.6e12} {
		if got, err := Unix(v); err == nil {
			t.Errorf("%g: %v", v, got)
		}
	}
	for _, s := range []string{"-62167219201", "253402300801", "0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00"} {
		if got, err := ParseDate(s); err == nil {
			t.Errorf("%q: %v, which is outside of the years 0 to 9999", s, got)
		}
	}
	for _, s := range []string{"0000-01-01", "5200-01-01", "9999-12-31", "9999-12-31T23:59:59.999999Z"} {
		written, err := ParseDate(s)
		if err != nil {
			t.Errorf("%q: %v", s, err)
		}
		if read, err := Unix(Seconds(written)); err != nil || read.Sub(written).Abs() > time.Millisecond || read.Year() > 9999 { // as in answers
			t.Errorf("%q: read back as %v, %v", s, read, err)
		}
	}
	if got, err := ParseDate("1970-01-01"); err != nil || got.UnixMicro() != 1 {
		t.Errorf("the epoch: %v %v", got, err)
	}
}

// The description states the same bounds.
func TestSchema(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(parse("importance:unit half_life:hours order:string{asc,desc} rids:[]string! due:date at:number? shape:[]Draft old:string~").Schema())
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"properties":{"at":{"type":["number","null"]},"due":{"description":"` + WantDate + `","type":["string","number"]},` +
		`"half_life":{"exclusiveMinimum":0,"maximum":1000000,"type":"number"},"importance":{"maximum":1,"minimum":0,"type":"number"},` +
		`"order":{"enum":["asc","desc"],"type":"string"},"rids":{"items":{"type":"string"},"type":"array"},"shape":{"items":{"$ref":"#/components/schemas/Draft"},"type":"array"}},` +
		`"required":["rids","at"],"type":"object"}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// FuzzCheck: Check accepts or rejects any object without a panic.
func FuzzCheck(f *testing.F) {
	f.Add(`{"text":"x","embedding":[1,2],"as_of":"2020-01-01","time_window":[1,2],"tags":["a\"]",""]}`)
	f.Fuzz(func(t *testing.T, in string) {
		body := map[string]json.RawMessage{}
		if json.Unmarshal([]byte(in), &body) == nil {
			_ = parse(shorthand).Check(body, false)
		}
	})
}

// A list may be one parameter with commas, several parameters, or both.
func TestListOfTexts(t *testing.T) {
	t.Parallel()
	type request struct {
		Types []string `json:"type" doc:"Kinds of things."`
	}
	for in, want := range map[string]string{"type=a&type=b": "[a b]", "type=a,b&type=&type=c": "[a b c]", "": "[]", "type=": "[]"} {
		params, err := url.ParseQuery(in)
		if err != nil {
			t.Fatal(err)
		}
		var q request
		if err := Of(reflect.TypeFor[request]()).DecodeText(&q, params, false); err != nil || fmt.Sprint(q.Types) != want {
			t.Errorf("%s: %v %v", in, q.Types, err)
		}
	}
}

// TestGapsOfAList: a list of numbers in an answer may contain null, and the schema allows it.
func TestGapsOfAList(t *testing.T) {
	type answer struct {
		Lag []*float64 `json:"lag" doc:"Entries."`
	}
	got, err := json.Marshal(Of(reflect.TypeFor[answer]()).Schema()["properties"])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"lag":{"description":"Entries.","items":{"type":["number","null"]},"type":"array"}}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestObjectInAnObject: nested objects are checked and decoded by their own descriptions, at any depth.
func TestObjectInAnObject(t *testing.T) {
	t.Parallel()
	type inner struct {
		At   Date    `json:"at" doc:"A date."`
		More Map     `json:"more" doc:"An object."`
		Size float64 `json:"size" is:"unit" default:"0.5" doc:"A number."`
	}
	type outer struct {
		One   inner   `json:"one" doc:"An object."`
		Maybe *inner  `json:"maybe" doc:"An object."`
		All   []inner `json:"all" doc:"Objects."`
	}
	for in, want := range map[string]string{
		`{"one":{"at":1600000000,"more":{"a":1}},"maybe":{"more":{"a":[2]},"size":1}}`: "",
		`{"maybe":{"size":2}}`:          "maybe: size: want a number from 0 to 1, got 2",
		`{"maybe":{"syze":1}}`:          "maybe: unknown field 'syze': did you mean 'size'?",
		`{"one":{"at":"in a while"}}`:   `one: at: want ` + WantDate + `, got "in a while"`,
		`{"one":[]}`:                    "one: want an object, got []",
		`{"all":[{"more":{}},{"x":1}]}`: "all[1]: unknown field 'x'",
	} {
		var body map[string]json.RawMessage
		if err := json.Unmarshal([]byte(in), &body); err != nil {
			t.Fatal(err)
		}
		var got outer
		err := Of(reflect.TypeFor[outer]()).Decode(&got, body, false)
		if said := fmt.Sprint(err); err != nil && said != want || err == nil && want != "" {
			t.Errorf("%s: got %v, want %q", in, err, want)
		}
		if want == "" && (string(got.One.More) != `{"a":1}` || got.One.Size != 0.5 || got.One.At.Unix() != 1600000000 ||
			string(got.Maybe.More) != `{"a":[2]}` || got.Maybe.Size != 1) {
			t.Errorf("%s: got %+v, %+v", in, got.One, got.Maybe)
		}
	}
}

// TestAListHasABoundedNumberOfObjects: in a body of megabytes, the smallest objects would take gigabytes.
func TestAListHasABoundedNumberOfObjects(t *testing.T) {
	t.Parallel()
	type item struct {
		Text string `json:"text" doc:"A text."`
	}
	type request struct {
		All []item `json:"all" doc:"Objects."`
	}
	for n, ok := range map[int]bool{MaxObjects: true, MaxObjects + 1: false} {
		body := map[string]json.RawMessage{"all": json.RawMessage("[" + strings.Repeat("{},", n-1) + "{}]")}
		for _, lenient := range []bool{false, true} {
			var got request
			err := Of(reflect.TypeFor[request]()).Decode(&got, maps.Clone(body), lenient)
			if ok && (err != nil || len(got.All) != n) || !ok && (err == nil || err.Error() != "all: more than 16384 objects") {
				t.Errorf("%d objects, lenient %t: %d, %v", n, lenient, len(got.All), err)
			}
		}
	}
}

// TestNumbersBeyondTheirType: a number too large for its field becomes the type's maximum, in a body and in a URL, so
// that a condition is never skipped.
func TestNumbersBeyondTheirType(t *testing.T) {
	t.Parallel()
	type request struct {
		Guard *uint32 `json:"guard" is:"integer[0..]" doc:"A revision."`
		From  uint64  `json:"from" default:"7" doc:"A position."`
		Limit int     `json:"limit" is:"integer[0..]" default:"20" doc:"How many."`
	}
	of := Of(reflect.TypeFor[request]())
	for _, v := range []string{"4294967296", "18446744073709551616", "99999999999999999999999"} {
		var body map[string]json.RawMessage
		if err := json.Unmarshal(fmt.Appendf(nil, `{"guard":%s,"from":%[1]s,"limit":%[1]s}`, v), &body); err != nil {
			t.Fatal(err)
		}
		var sent, asked request
		err := errors.Join(of.Decode(&sent, body, false),
			of.DecodeText(&asked, map[string][]string{"guard": {v}, "from": {v}, "limit": {v}}, false))
		for _, got := range []request{sent, asked} {
			if err != nil || got.Guard == nil || *got.Guard != math.MaxUint32 || got.From < 4294967296 || got.Limit != math.MaxInt32 {
				t.Errorf("%s: got %+v, %v", v, got, err)
			}
		}
	}
}
