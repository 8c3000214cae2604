// Package debug implements `cairn debug`, which collects diagnostics of a node into one file, without secrets and
// memories.
package debug
