// Package config is the configuration of a node: the TOML file that `cairn serve` reads, the environment that overrides
// it, the file that `cairn cluster init` writes, and where the master key of an encrypted home comes from. A key is a
// field of File with its meaning, default and unit in the tag; deploy/CONFIG.md and the names of the environment are
// made from that.
//
// Load turns a file into a Setup and starts nothing.
package config
