// Package vector finds the rows of one database whose vectors lie nearest to a question's.
//
// It is flat: every live row is looked at, in three steps that each look at fewer rows with more care.
//
//	sign codes   d bits a row   Hamming distance, scaled       all rows, when there are more than 20,000
//	int8         d bytes a row  integer dot product, scaled    the best of those, or all rows of a small store
//	float32      the original   dot product in float64         the best of those; read from its owner
//
// There is no graph and no training, so neither the order of insertion nor what was deleted changes an
// answer, and a filter is asked inside the scan instead of after it.
//
// # What is kept of a vector
//
// A vector x of length 1 and dimension d is held as
//
//	code    the signs of R·x, one bit a dimension, padded to 64
//	factor  1 / Σ|R·x|, float32: (d − 2·hamming)·factor estimates the cosine
//	int8    round(x/scale) half to even, scale = max|x|/127, padded with zeros to 32
//	scale   float32
//
// R is a fixed rotation: four rounds of sign flips, each followed by a Walsh-Hadamard transform of the first and of the
// last 2^k dimensions, 2^k being the largest power of two within d. Its signs come from a constant seed. At 384 dimensions
// that is 48 + 4 + 384 + 4 = 440 bytes a row; the original stays with the owner.
//
// Rows are numbered by the owner. Blocks of 256 rows are made when their first vector comes and never move.
//
// # The same answer everywhere
//
// Every step orders by (score, the caller's tie rule, row) and scores are made of integer sums and of single float
// operations that no compiler may fuse: replicas agree to the bit whatever their processor, the number of goroutines and
// the order in which rows came. The int8 product has an AVX2 version for amd64, which is exact as integers are.
//
// One goroutine at a time may Put and Delete; any number may Search meanwhile and take no lock. A search sees a row that is
// put during it or does not; it never sees half of one.
package vector
