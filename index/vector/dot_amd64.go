package vector

import "golang.org/x/sys/cpu"

// dotAVX2 is dotGeneric for lengths that are a multiple of 32.
//
//go:noescape
func dotAVX2(a, b *int8, n int) int32

// dotInt8 picks the product for this processor; both give the same sum.
func dotInt8() func(a, b []int8) int32 {
	if !cpu.X86.HasAVX2 {
		return dotGeneric
	}
	return func(a, b []int8) int32 {
		if len(a) == 0 {
			return 0
		}
		return dotAVX2(&a[0], &b[0], len(a))
	}
}
