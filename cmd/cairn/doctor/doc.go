// Package doctor implements `cairn doctor`. It examines a running or stopped node from outside, and reports problems
// and what to do about them. It changes nothing. Each check is a row of checks and a method of examination.
package doctor
