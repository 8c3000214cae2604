//go:build !linux

package raft

import "os"

func syncData(f *os.File) error { return f.Sync() }
