package stringd

// LargeBodies returns how many places for large bodies are taken.
func (s *Server) LargeBodies() int { return s.large.InUse() }
