package command

type page struct{ path string }
type place struct{}
type stamp struct{}
type undo struct{}

func documentFamily() []def        { return nil }
func navigationFamily() []def      { return nil }
func actionFamily() []def          { return nil }
func editFamily() []def            { return nil }
func (s *Session) describe() *Meta { return nil }
