// Package vector finds the rows of one database whose vectors lie nearest to a question's.
//
// A search compares every live row that passes the filter, in three steps: each compares fewer rows more exactly. A
// store of 50,000 vectors or more may be divided into partitions, of which a question looks at a few.
//
//	sign codes   d bits a row   the question against signs     all rows, when there are more than 20,000 (in large stores from fewer on)
//	int8         d bytes a row  integer dot product, scaled    the best of those, or all rows of a small store
//	float32      the original   dot product in float64         those that may be among the best; read from its owner
//
// A row's original is compared when its int8 product is so close to the bound (four deviations of the error) that the
// row may or may not be among the wanted ones.
//
// Codes leave at most 24·√n rows. They are compared from the best estimate down, until an estimate, with three
// deviations of its error added, is below what was found: clustered vectors stop after a few hundred, a cloud without
// structure needs all.
//
// There is no graph, so the order of insertion and deleted rows do not change an answer, and filters are applied
// inside the scan instead of after it.
//
// # Partitions
//
// Learn finds 4·√n centroids, 4,096 at most, by k-means over a sample of 32 int8 forms each: first of groups, then
// within each group. To assign a row, it is compared with the centroids of the eight groups nearest to it. The measure
// is the product of the int8 forms times 2^30, divided by the centroid's length: whole numbers, so replicas, rebuilt
// stores and stores that got rows later divide alike.
//
// A question compares the int8 forms of all rows in one partition after another, the nearest first. It stops when the
// cosine of the next centroid, plus a slack, is below that of the last wanted row (Query.Sure) among those found. So a
// question in the middle of a cluster looks at one or two partitions, and one to which a filter leaves only far rows at
// more.
//
// Learn measures the slack with vectors of the store, and with others between them, without a filter and with filters
// that leave a tenth and a hundredth. It takes the slack that finds the ten nearest rows, but for three of a thousand.
//
// After one in 32 partitions the question counts how many would follow. It compares all rows instead when these are
// more than an eighth, with a filter a half, or when it has compared a twelfth of all rows. Where questions would
// compare more than a twelfth on average, as with vectors without structure, Learn reports that the store is better not
// divided. The caller gives Learn's result to all replicas (Partition).
//
// # What is kept of a vector
//
// A vector x of length 1 and dimension d is held as
//
//	code    the signs of R·x, one bit a dimension, padded to 64; set is negative
//	factor  1 / Σ|R·x|, float32: factor·Σ ±(R·q) with the code's signs estimates the cosine to a question q
//	int8    round(x/scale) half to even, scale = max|x|/127, padded with zeros to 32
//	scale   float32
//
// R is a fixed rotation: four rounds of sign flips, each followed by a Walsh-Hadamard transform of the first and of
// the last 2^k dimensions, 2^k being the largest power of two within d. Its signs come from a constant seed. At 384
// dimensions that is 48 + 4 + 384 + 4 = 440 bytes a row; the original stays with the owner.
//
// The sum over signs is looked up four dimensions at a time in a table of the question's own, whose entries are whole
// numbers up to 127; AVX2 does so for 32 rows at once, which is why the codes of 32 rows lie side by side, byte by
// byte.
//
// Rows are numbered by the owner. Blocks of 256 rows are made when their first vector comes and never move. A block
// of which half has died is copied into a smaller one; searches under way keep the old.
//
// # The same answer everywhere
//
// Every step orders by (score, the caller's tie rule, row) and scores are made of integer sums and of single float
// operations that no compiler may fuse: replicas agree to the bit whatever their processor, the number of goroutines
// and the order in which rows came. The two inner loops exist in portable Go and for amd64 with AVX2, chosen when a
// store is made. Other processors, arm64 among them, use the portable ones: the tests run both and compare.
//
// One goroutine at a time may Put and Delete; any number may Search meanwhile and take no lock. A search sees a row
// that is put during it or does not; it never sees half of one.
package vector
