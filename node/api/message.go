package api

// Message is one message of a conversation that is no operation of its own, such as a model's first: it is counted as one.
var Message = row[MessageRequest, MessageAnswer](Op{Name: "message", Does: "One message of a conversation.", Scope: Read})

type (
	MessageRequest struct{}
	MessageAnswer  struct{}
)
