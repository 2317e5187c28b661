package access

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

// skew is the tolerated clock difference to the API server.
const skew = time.Minute

// claims are the used claims of a JWT (RFC 7519 §4.1). Signatures aren't verified, so they only
// tell which tokens the API server would refuse.
type claims struct {
	Expires   json.Number `json:"exp"`
	Audiences audiences   `json:"aud"`
}

// audiences is a string or a list of strings.
type audiences []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audiences) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*a = audiences{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(a))
}

// parse returns the claims of a JWT; false if the token isn't one.
func parse(token string) (c claims, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[2] == "" {
		return claims{}, false
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	if !decode(parts[0], &header) || header.Algorithm == "" || !decode(parts[1], &c) {
		return claims{}, false
	}
	_, err := base64.RawURLEncoding.DecodeString(parts[2])
	return c, err == nil
}

func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// invalid says why a token is certainly invalid; "" if it may be valid.
func invalid(token string, now time.Time) string {
	if strings.Count(token, ".") != 2 {
		return "" // without the three parts of a JWT, a token is opaque, such as that of a webhook
	}
	c, ok := parse(token)
	if !ok {
		return "the token is no JWT, although it has three parts: was it cut off? Ask for a new one, with kubectl create token"
	}
	if c.Expires == "" {
		return ""
	}
	expires, err := c.Expires.Float64()
	if err != nil || float64(now.Add(-skew).Unix()) > expires {
		return "the token has expired: ask for a new one, with kubectl create token"
	}
	return ""
}
