package vector

import "math/bits"

// dotGeneric is the product of two int8 vectors of one length.
func dotGeneric(a, b []int8) (sum int32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += int32(x) * int32(b[i])
	}
	return sum
}

// hamming counts the bits in which two codes differ.
func hamming(a, b []uint64) (n int) {
	b = b[:len(a)]
	for i, x := range a {
		n += bits.OnesCount64(x ^ b[i])
	}
	return n
}

// hamming6 is hamming for 384 dimensions, without the loop.
func hamming6(a, b *[6]uint64) int {
	return bits.OnesCount64(a[0]^b[0]) + bits.OnesCount64(a[1]^b[1]) + bits.OnesCount64(a[2]^b[2]) +
		bits.OnesCount64(a[3]^b[3]) + bits.OnesCount64(a[4]^b[4]) + bits.OnesCount64(a[5]^b[5])
}
