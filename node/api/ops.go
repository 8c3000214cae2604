package api

// Ops is the table: every operation of every surface.
var Ops = []*Op{
	StartSession.Op, EndSession.Op, SessionHistory.Op, Sessions.Op, DraftSummary.Op,
}
