// Package field describes requests and answers: the names of their fields and the valid values of each. All surfaces
// use the same description: it checks JSON objects, URL parameters and single values, and OpenAPI, tools and the
// reference page are generated from it. It imports no other package of this module.
//
// # Kinds
//
// A kind is a JSON type (string, number, integer, boolean, object, array), any, the capitalized name of a shape
// described elsewhere, [] before another kind, or one of
//
//	date     RFC 3339, a date (its first instant, UTC) or Unix seconds
//	key      a string of 1 to 512 bytes that is not blank
//	window   [from, to], two dates in order; null leaves a side open
//	unit     a number from 0 to 1          signed   a number from -1 to 1
//	hours    more than 0, up to 1,000,000  weight   a number of at least 0
//
// A number may have bounds: number[0..1] includes both ends, number(0..1] excludes the first, and an omitted end is
// open. A string may be an enumeration: string{asc,desc}. In a request null means absent.
//
// # Structs
//
// Of reads the description of an object from the tags of a struct: json is the name; is, the kind, if it does not
// follow from the Go type; doc, the meaning. Decode checks an object and decodes it into the struct. See node/api for
// all tags.
//
// # Strict and lenient
//
// Check rejects, by name, unknown fields, values of the wrong type, numbers out of range, and missing required
// fields. If lenient, it checks only dates and required fields: an ignored date would return an answer about another
// time.
package field
