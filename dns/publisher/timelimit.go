package publisher

import "time"

// TimeLimit is the time limit of work with several steps, such as connecting and [Publisher.Once]. All
// steps together may take that long. Its text is the duration.
type TimeLimit struct {
	duration time.Duration
	end      time.Time
}

// Within returns a time limit that begins now.
func Within(d time.Duration) TimeLimit { return TimeLimit{duration: d, end: time.Now().Add(d)} }

// End returns when the time is over.
func (l TimeLimit) End() time.Time { return l.end }

// String returns the duration, such as 1m0s.
func (l TimeLimit) String() string { return l.duration.String() }
