//go:build !amd64

package vector

// fastest picks the inner loops for this processor.
func fastest() kernels { return portable }
