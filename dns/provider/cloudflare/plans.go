package cloudflare

// limits are those of a zone's plan (spec/clouds.md §6.4, §6.5).
type limits struct {
	// comment limits a comment in bytes, and operations those of a batch.
	comment, operations int
	// tags says whether records may have tags.
	tags bool
	// minTTL is the lowest TTL.
	minTTL int64
}

const (
	usualMinTTL = 60
	// maxTTL is the highest TTL of all plans.
	maxTTL = 86400
)

// Limits by plan.
var (
	freeLimits       = limits{comment: 100, operations: 200, minTTL: usualMinTTL}
	paidLimits       = limits{comment: 500, operations: 3500, tags: true, minTTL: usualMinTTL}
	enterpriseLimits = limits{comment: 500, operations: 3500, tags: true, minTTL: 30}
)

// subscription is the plan of a zone in a listing.
type subscription struct {
	LegacyID   string `json:"legacy_id"`
	Subscribed bool   `json:"is_subscribed"`
}

// limits returns the limits of the plan. An unknown plan without a price counts as free, because lower limits
// are never refused.
func (s subscription) limits() limits {
	switch s.LegacyID {
	case "enterprise":
		return enterpriseLimits
	case "pro", "business":
		return paidLimits
	case "free":
		return freeLimits
	}
	if s.Subscribed {
		return paidLimits
	}
	return freeLimits
}
