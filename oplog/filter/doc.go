// Package filter parses the attributes of memories and evaluates filters on them. It consists of pure functions of
// JSON.
//
// Attributes are a flat JSON object:
//
//	{"project":"atlas","priority":2,"done":false,"due":"2026-03-01T12:00:00Z","tags":["red","blue"]}
//
// A value is a string, a number, true, false or a list of strings. A string in the form of RFC 3339 is also a date or a
// time, in UTC if it has no zone, to the microsecond. An object has at most [MaxAttributes] names of at most [MaxName]
// bytes, and at most [MaxSize] bytes in its canonical form: names sorted, no spaces, numbers in their shortest form. A
// name is not blank, is not and, or, or not, and does not begin with @. A number is a 64-bit float. Whole numbers from
// 2^53 on, which a float may not represent exactly, are rejected.
//
// A filter is a JSON object. A record passes if all members of the object hold:
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
// Numbers are ordered by size, strings by their bytes, and times by the moment, whatever their zones. If the filter's
// value is a time, only times are compared with it. Values of different types are never equal and have no order. A list
// passes if one of its strings does; eq with a list needs the same list. An absent value passes exists false, ne and
// nin only: ne is the opposite of eq, and nin of in.
//
// A name with @ is a field of the record, so it cannot be confused with an attribute:
//
//	@memory_type @namespace @domain @source @session_id @tier   strings; a blank one is absent
//	@writer @dialect @agent                                     the same
//	@trust                                                      operator, agent, tool or web
//	@created_at @updated_at                                     times: a date, or Unix seconds
//	@importance                                                 a number
//
// A filter is at most [MaxFilter] bytes long and [MaxDepth] levels deep, and has at most [MaxTests] operators and
// [MaxValues] values. Unknown operators and fields are rejected by name.
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
