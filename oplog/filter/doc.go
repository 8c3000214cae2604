// Package filter holds the attributes of memories and the language that filters by them. It is a pure function of
// JSON and imports no other package of ours.
//
// Attributes are a flat JSON object:
//
//	{"project":"atlas","priority":2,"done":false,"due":"2026-03-01T12:00:00Z","tags":["red","blue"]}
//
// A value is a string, a number, true, false or a list of strings. A string that RFC 3339 reads as a date or a time
// is a time as well, in UTC where it has no zone, to the microsecond. An object has at most [MaxAttributes] names of
// [MaxName] bytes each and takes at most [MaxSize] bytes in its canonical form: names sorted, no space, numbers in
// their shortest form. A name is not blank, is none of and, or, not, and does not begin with @. A number is a 64-bit
// float; a whole number of 2^53 or more, which might change, is rejected.
//
// A filter is a JSON object, and a record passes when all of its members hold:
//
//	{"project":"atlas"}                                 the attribute equals the value
//	{"priority":{"gte":2,"lt":5}}                       all operators hold
//	{"and":[FILTER,…]}  {"or":[FILTER,…]}               all of them pass, or one of them
//	{"not":FILTER}                                      it does not pass
//	{"@created_at":{"gte":"2026-01-01"}}                a field of the record, not an attribute
//	{}                                                  everything passes
//
//	eq, ne            equals the value, or does not
//	in, nin           equals one of the list, or none
//	gt, gte, lt, lte  greater, at least, less, at most
//	exists            true: there is a value; false: there is none
//	contains          a string that has the text in it; a list that has the string
//	icontains         contains, whatever the case of the letters
//	prefix            a string that begins with the text
//
// Numbers are ordered by size and strings by their bytes. Where the filter's value is a time, only times are compared
// with it, whatever their zone. Values of two types are never equal and never ordered. A list passes where one of its
// strings does; an eq whose value is a list wants that list. What is absent passes exists false, ne and nin, and
// nothing else: ne is the opposite of eq, and nin of in.
//
// A name with @ is a field of the record, so no attribute can be taken for one:
//
//	@memory_type @namespace @domain @source @session_id @tier   strings; a blank one is absent
//	@writer @dialect @agent                                     the same
//	@trust                                                      operator, agent, tool or web
//	@created_at @updated_at                                     times: a date, or Unix seconds
//	@importance                                                 a number
//
// A filter is at most [MaxFilter] bytes long and [MaxDepth] deep, and has at most [MaxTests] operators and
// [MaxValues] values. What it does not know, it rejects by name.
package filter

// The bounds of attributes.
const (
	MaxAttributes = 64
	MaxName       = 128
	MaxSize       = 16 << 10
)

// The bounds of a filter.
const (
	MaxFilter = 64 << 10
	MaxDepth  = 16
	MaxTests  = 100
	MaxValues = 1000
)
