package vector

import "golang.org/x/sys/cpu"

// dotAVX2 is dotGeneric for lengths that are a multiple of 32.
//
//go:noescape
func dotAVX2(a, b *int8, n int) int32

// dotsAVX2 is dotsGeneric for lengths that are a multiple of 32, and one vector at least.
//
//go:noescape
func dotsAVX2(a, rows *int8, n, count int, out *int32)

// prefetchLines has the processor load n bytes into its cache, n being positive, and does not wait.
//
//go:noescape
func prefetchLines(p *int8, n int)

// scanAVX2 is scanGeneric for a whole group; slots that are not live get any number.
//
//go:noescape
func scanAVX2(codes, entries *byte, columns int, out *[groupRows]uint16)

var avx2 = kernels{
	name: "avx2",
	dot: func(a, b []int8) int32 {
		if len(a) == 0 {
			return 0
		}
		return dotAVX2(&a[0], &b[0], len(a))
	},
	dots: func(a, rows []int8, out []int32) {
		if len(a) == 0 || len(out) == 0 {
			clear(out)
			return
		}
		_ = rows[:len(a)*len(out)]
		dotsAVX2(&a[0], &rows[0], len(a), len(out), &out[0])
	},
	prefetch: func(p []int8) { prefetchLines(&p[0], len(p)) },
	scan: func(s *Store, q *Query, b *block, group int, _ uint32, out *[groupRows]uint16) {
		scanAVX2(&b.codes[group*groupRows*s.columns], &q.table.entries[0], s.columns, out)
	},
}

// fastest picks the inner loops for this processor.
func fastest() kernels {
	if cpu.X86.HasAVX2 {
		return avx2
	}
	return portable
}
