// Package field describes requests and answers: the names of their fields and the allowed values of each. One
// description serves every surface: it checks a JSON object, the parameters of a URL or a single value, and OpenAPI,
// tools and the reference page are made of it. It imports no other package of this module.
//
// # Kinds
//
// A kind is a type of JSON (string, number, integer, boolean, object, array), any, the name of a shape described
// elsewhere (with a capital), [] before another kind, or one of
//
//	date     RFC 3339, a date (its first instant, UTC) or Unix seconds
//	key      a string of 1 to 512 bytes that is not blank
//	window   [from, to], two dates in order; null leaves a side open
//	unit     a number from 0 to 1          signed   a number from -1 to 1
//	hours    more than 0, up to 1,000,000  weight   a number of at least 0
//
// A number may be bounded: number[0..1] takes both ends, number(0..1] not the first, and an end left out is open. A
// string may be one of a few: string{asc,desc}. In a request null is the same as missing.
//
// # Structs
//
// Of reads the description of an object from the tags of a struct: json has the name, is the kind where the Go type
// does not say it, doc the meaning. Decode checks an object and puts its values into the struct. See node/api for all
// tags.
//
// # Strict and lenient
//
// Check rejects unknown fields, values of another type, numbers out of range and required fields that are missing,
// each by name. Lenient checks dates alone, in both directions the same: no client relies on an answer about another
// time than it requested.
package field
