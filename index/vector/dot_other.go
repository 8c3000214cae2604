//go:build !amd64

package vector

// dotInt8 picks the product for this processor.
func dotInt8() func(a, b []int8) int32 { return dotGeneric }
