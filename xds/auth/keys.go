package auth

import (
	"crypto"
	"encoding/json"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// algorithms are the signature algorithms of API servers.
var algorithms = []string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512"}

// maxKeys limits the keys of an API server. During a rotation there are several.
const maxKeys = 64

// keySet has the issuer and the keys of the tokens of an API server. Key sets are immutable.
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
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(list, &found); err != nil {
		return nil, fmt.Errorf("read the keys of tokens: %s: %w", keysPath, err)
	}
	s := &keySet{issuer: about.Issuer, keys: map[string]crypto.PublicKey{}}
	for _, text := range found.Keys[:min(len(found.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(text); err == nil && key.Valid() && key.IsPublic() {
			s.keys[key.KeyID] = key.Key
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
