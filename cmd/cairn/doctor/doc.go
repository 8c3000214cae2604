// Package doctor is `cairn doctor`: it looks at a node from outside, running or stopped, and says what is wrong and
// what to do. It changes nothing. A check is a row of checks and a method of exam.
package doctor
