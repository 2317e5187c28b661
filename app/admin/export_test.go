package admin

import "net/http"

// Handler returns the handler of the server, without a listener.
func (s *Server) Handler() http.Handler { return s.handler }
