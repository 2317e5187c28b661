package dns

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxTTL is the highest TTL of a record in seconds (RFC 2181, 8).
const MaxTTL = math.MaxInt32

// ParseTTL parses the value of the annotation ttl: a whole number of seconds, or a duration such as
// 1h30m, rounded down to seconds. The result is from 1 to [MaxTTL], or 0 with an error.
func ParseTTL(value string) (int64, error) {
	value = strings.TrimSpace(value)
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		duration, err := time.ParseDuration(value)
		if err != nil {
			return 0, fmt.Errorf("parse the TTL %q: write seconds such as 300, or a duration such as 5m", value)
		}
		seconds = int64(duration / time.Second)
	}
	if seconds < 1 || seconds > MaxTTL {
		return 0, fmt.Errorf("parse the TTL %q: it must be from 1 to %d seconds", value, MaxTTL)
	}
	return seconds, nil
}
