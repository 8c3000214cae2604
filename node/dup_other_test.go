//go:build !linux

package node_test

import "syscall"

func dupOver(from, to int) error { return syscall.Dup2(from, to) }
