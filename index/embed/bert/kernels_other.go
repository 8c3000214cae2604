//go:build !amd64

package bert

// fastest picks the inner loops for this processor.
func fastest() kernels { return portable }
