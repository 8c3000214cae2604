package bert

import "golang.org/x/sys/cpu"

//go:noescape
func tileAVX2(a *float32, lda int, b, c *float32, ldc, k int)

//go:noescape
func geluAVX2(x *float32, n int, table *[len(geluTable)][8]float32)

//go:noescape
func expAVX2(x *float32, n int, scale, less float32, table *[len(expTable)][8]float32) float32

// Every constant fills a register.
var (
	geluLanes = [len(geluTable)][8]float32(lanes(geluTable[:]))
	expLanes  = [len(expTable)][8]float32(lanes(expTable[:]))
)

var avx2 = kernels{
	name: "avx2",
	tile: func(a []float32, lda int, b, c []float32, ldc, k int) {
		tileAVX2(&a[0], 4*lda, &b[0], &c[0], 4*ldc, k)
	},
	gelu: func(x []float32) { geluAVX2(&x[0], len(x), &geluLanes) },
	exp: func(x []float32, scale, less float32) float32 {
		return expAVX2(&x[0], len(x), scale, less, &expLanes)
	},
}

func lanes(constants []float32) [][8]float32 {
	out := make([][8]float32, len(constants))
	for i, c := range constants {
		for k := range out[i] {
			out[i][k] = c
		}
	}
	return out
}

// fastest picks the inner loops for this processor.
func fastest() kernels {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		return avx2
	}
	return portable
}
