package node_test

import "syscall"

func dupOver(from, to int) error { return syscall.Dup3(from, to, syscall.O_CLOEXEC) }
