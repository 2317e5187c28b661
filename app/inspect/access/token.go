package access

import (
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// skew is the tolerated clock difference to the API server.
const skew = time.Minute

// algorithms are all signature algorithms. Signatures aren't verified here, so claims only tell which tokens
// the API server would refuse.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512, jose.PS256, jose.PS384, jose.PS512,
	jose.EdDSA, jose.HS256, jose.HS384, jose.HS512,
}

// parse returns the claims of a JWT; false if the token isn't one.
func parse(token string) (c jwt.Claims, ok bool) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	return c, err == nil && !strings.HasSuffix(token, ".") && parsed.UnsafeClaimsWithoutVerification(&c) == nil
}

// invalid says why a token is certainly invalid; "" if it may be valid.
func invalid(token string, now time.Time) string {
	if strings.Count(token, ".") != 2 {
		return "" // without the three parts of a JWT, a token is opaque, such as that of a webhook
	}
	switch c, ok := parse(token); {
	case !ok:
		return "the token is no JWT, although it has three parts: was it cut off? Ask for a new one, with kubectl create token"
	case c.Expiry != nil && now.Add(-skew).After(c.Expiry.Time()):
		return "the token has expired: ask for a new one, with kubectl create token"
	default:
		return ""
	}
}
