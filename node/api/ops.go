package api

// Ops is the table: every operation of every surface.
var Ops = []*Op{
	StartSession.Op, EndSession.Op, SessionHistory.Op, Sessions.Op, DraftSummary.Op,
	Relate.Op, Edges.Op, Graph.Op, Unrelate.Op, Claim.Op, Claims.Op, Alias.Op,
}
