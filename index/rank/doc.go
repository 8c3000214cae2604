// Package rank decides the order of an answer. It only scores and fuses: no
// I/O, no clock, no goroutine, no state. The owner of the index gathers
// candidates and passes them with their columns. The answer is a function of
// these alone, to the bit, whatever the order of the candidates.
//
// # From words to relevance
//
// A memory is seldom alone. What was said just before and after it, in which
// session, when and by whom says as much about it as its own words:
//
//	words    exact BM25 of the row's own text, as a share of a perfect match,
//	         discounted by the square root of its density
//	passage  BM25 of the row and its neighbours in the exchange read as one text, fading by .5 to .6 a step
//	around   the neighbours' own words, fading likewise; an answer inherits
//	         more from the question before it, and among short turns a row that says
//	         "them" or "she" reads half as much more of what was said before it
//	session  how far the session's match lies above the average session's
//	factors  the speaker is named in the question; the asker asks about
//	         himself; the date is the one asked for, or means it ("yesterday"); a time is
//	         asked for and the row holds one; the row is itself a question, or short
//
// density is min(1, 20/length), or 40/length where texts are brief: in a very long text a word says less. Short is
// a row below s = min(mean length, 40 − mean length) tokens: among short turns
// "Wow, great!" says nothing, among long texts a short one is the point. It
// loses up to .3, less by length/s; at a mean of 40 and more no row is short.
//
// The sum times the factors is x, and relevance is x/(1+x). A vector that stands
// out by more than chance and the words explain lifts x, and where words find
// nothing vectors decide; then the graph is added (fuse.go). The composite adds
// freshness, importance and trust:
//
//	composite = relevance · (1 + bounded freshness) · (1 + gate·importance) · trust
//
// Trust takes a tenth off what a tool said, and another off what came from the web (Settings.Distrust).
// Freshness is at most Settings.Freshness, 5 %, so that a better match does not
// lose to a merely newer row.
//
// The composite orders the rows. A score is the probability that its row answers the question (probability.go).
//
// Only rows with a word of the question, rows next to a strong hit in the same exchange, rows with a vector like the
// question's and rows with a relation to what it names are ordered at all. An exchange is rows of one session that
// several speakers said within minutes: a list of facts has no context.
//
// Scores are rounded to 1e-9; ties go to the newer row, then to the lower rid.
package rank
