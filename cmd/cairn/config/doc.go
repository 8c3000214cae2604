// Package config handles the configuration of a node: the TOML file that `cairn serve` reads, the environment
// variables that override it, the file that `cairn cluster init` writes, and the source of the master key of an
// encrypted home. Each key is a field of File, with its meaning, default and unit in the tag. deploy/CONFIG.md and
// the names of the environment variables are generated from these tags.
//
// Load turns a file into a Setup and starts nothing.
package config
