// Package debug is `cairn debug`: it collects what helps to understand a node into one file, without secrets and
// memories.
package debug
