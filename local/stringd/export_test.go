package stringd

// LargeBodies returns the number of slots for large bodies that are in use.
func (s *Server) LargeBodies() int { return s.large.InUse() }
