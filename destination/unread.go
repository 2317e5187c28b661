package destination

import (
	"time"

	"github.com/signpostd/signpost/internal/clientlimits"
)

// heldVersions is how many responses a blocked stream holds: the one that it sends, and the one
// before.
const heldVersions = 2

// blocked returns the streams that are sending, with the responses that only they hold.
func (s *Server) blocked(now time.Time) (list []clientlimits.Blocked) {
	s.getStreams.Each(func(st *stream) {
		if a := st.sending.Load(); a != nil {
			b := clientlimits.Blocked{Connection: st.connection, For: st.lag(now)}
			if a != st.view.Load().current.Load() {
				b.Holds, b.Bytes = a, heldVersions*a.size()
			}
			list = append(list, b)
		}
	})
	s.profileStreams.Each(func(st *profileStream) {
		if a := st.sending.Load(); a != nil {
			b := clientlimits.Blocked{Connection: st.connection, For: st.lag(now)}
			if a.frame != st.view.current.Load().frame {
				b.Holds, b.Bytes = a.frame, heldVersions*(len(a.own)+len(a.shared))
			}
			list = append(list, b)
		}
	})
	return list
}
