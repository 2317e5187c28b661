package admin

import "net/http"

// Handler returns what answers the requests, without a listener.
func (s *Server) Handler() http.Handler { return s.handler }
