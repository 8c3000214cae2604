// Package rank decides the order of an answer. It is scoring and fusion and
// nothing else: no I/O, no clock, no goroutine, no state. The owner of the index
// gathers candidates and hands them over with the columns; the answer is a
// function of these alone, to the bit, in whatever order the candidates come.
//
// # From words to relevance
//
// A memory is seldom alone. What was said just before and after it, in which
// session, when and by whom says as much about it as its own words:
//
//	words    exact BM25 of the row's own text, as a share of a perfect match,
//	         discounted by the square root of its density
//	passage  BM25 of the row and its neighbours read as one text, fading by .6 a step
//	around   the neighbours' own words, fading by .6 a step; an answer inherits
//	         more from the question before it, and among short turns a row that says
//	         "them" or "she" reads half as much more of what was said before it
//	session  how far the session's match lies above the average session's
//	factors  the speaker is named in the question; the asker asks about
//	         himself; the date is the one asked for, or means it ("yesterday"); a time is
//	         asked for and the row holds one; the row is itself a question, or short
//
// density is min(1, 20/length): in a very long text a word says less. Short is
// a row below s = min(mean length, 40 − mean length) tokens: among short turns
// "Wow, great!" says nothing, among long texts a short one is the point. It
// loses up to .3, less by length/s; at a mean of 40 and more no row is short. The sum,
// times the factors, is brought under 1 by x/(1+x). A vector that stands out by
// more than chance and the words explain lifts x, and where words leave nothing
// vectors decide; the graph joins (fuse.go), and the composite adds what the
// memory is worth:
//
//	score = relevance · (1 + bounded freshness) · (1 + gate·importance) · valence
//
// Freshness is at most Settings.Freshness, 5 %, so that a better match does not
// lose to a merely newer row. Additive is the older form of the composite.
//
// Where no row stands out, relevance less than 1.4 times that of the eighth row, and the first is of a session, the
// question is asked again, once, by what its first eight answers are about (second.go): a row with all the words that
// they share gains .2 of the best match.
//
// Only rows with a word of the question in or near them, a vector like the question's, a relation to
// what it names or words that the first answers share are ordered at all.
//
// Scores are rounded to 1e-9; ties go to the newer row, then to the lower rid.
package rank
