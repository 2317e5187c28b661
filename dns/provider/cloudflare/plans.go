package cloudflare

// limits are what a zone may have with its plan (spec/clouds.md §6.4, §6.5).
type limits struct {
	// comment is the most bytes of a comment, and operations the most of a batch.
	comment, operations int
	// tags is whether records may have tags.
	tags bool
	// minTTL is the lowest TTL.
	minTTL int64
}

const (
	usualMinTTL = 60
	// maxTTL is the highest TTL of all plans.
	maxTTL = 86400
)

// The limits of plans.
var (
	freeLimits       = limits{comment: 100, operations: 200, minTTL: usualMinTTL}
	paidLimits       = limits{comment: 500, operations: 3500, tags: true, minTTL: usualMinTTL}
	enterpriseLimits = limits{comment: 500, operations: 3500, tags: true, minTTL: 30}
)

// subscription is what a listing of zones says about the plan of one.
type subscription struct {
	LegacyID   string `json:"legacy_id"`
	Subscribed bool   `json:"is_subscribed"`
}

// limits returns those of the plan. An unknown plan counts as free if nobody pays for it: less
// than is allowed is never refused.
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
