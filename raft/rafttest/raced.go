//go:build race

package rafttest

const raced = true
