package auth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"

	"github.com/golang-jwt/jwt/v5"
)

// algorithms are those with which an API server can sign tokens.
var algorithms = []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512"}

const (
	// maxKeys bounds the keys of an API server. It has one, and more while they are replaced.
	maxKeys = 64
	// maxExponent bounds the public exponent of an RSA key.
	maxExponent = 1<<31 - 1
)

// keySet is what the API server publishes about its tokens. It is immutable.
type keySet struct {
	issuer string
	keys   map[string]crypto.PublicKey // by their IDs
}

// parseKeys reads the documents of the API server. Keys of other kinds are left out.
func parseKeys(configuration, list []byte) (*keySet, error) {
	var about struct {
		Issuer string `json:"issuer"`
	}
	if err := json.Unmarshal(configuration, &about); err != nil || about.Issuer == "" {
		return nil, fmt.Errorf("read the issuer of tokens: %s has none", configurationPath)
	}
	var found struct {
		Keys []webKey `json:"keys"`
	}
	if err := json.Unmarshal(list, &found); err != nil {
		return nil, fmt.Errorf("read the keys of tokens: %s: %w", keysPath, err)
	}
	s := &keySet{issuer: about.Issuer, keys: map[string]crypto.PublicKey{}}
	for i, k := range found.Keys {
		if i == maxKeys {
			break
		}
		if key, err := k.public(); err == nil {
			s.keys[k.ID] = key
		}
	}
	if len(s.keys) == 0 {
		return nil, fmt.Errorf("read the keys of tokens: %s has none that can be used", keysPath)
	}
	return s, nil
}

// keyOf returns the key of a token, by the ID in its header.
func (s *keySet) keyOf(t *jwt.Token) (any, error) {
	id, _ := t.Header["kid"].(string)
	key := s.keys[id]
	if key == nil {
		return nil, errUnknownKey
	}
	return key, nil
}

// webKey is a JSON Web Key (RFC 7517).
type webKey struct {
	Kind  string `json:"kty"`
	ID    string `json:"kid"`
	N     string `json:"n"`
	E     string `json:"e"`
	Curve string `json:"crv"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

var errKey = errors.New("the key can't be used")

func (k webKey) public() (crypto.PublicKey, error) {
	switch k.Kind {
	case "RSA":
		n, e := number(k.N), number(k.E)
		if n == nil || e == nil || !e.IsInt64() || e.Int64() < 2 || e.Int64() > maxExponent {
			return nil, errKey
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
	case "EC":
		curve := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[k.Curve]
		x, y := number(k.X), number(k.Y)
		if curve == nil || x == nil || y == nil {
			return nil, errKey
		}
		key := &ecdsa.PublicKey{Curve: curve, X: x, Y: y}
		if _, err := key.ECDH(); err != nil { // the point is not on the curve
			return nil, errKey
		}
		return key, nil
	default:
		return nil, errKey
	}
}

// number returns a number in base64url; nil if it is none.
func number(text string) *big.Int {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) == 0 {
		return nil
	}
	return new(big.Int).SetBytes(raw)
}
