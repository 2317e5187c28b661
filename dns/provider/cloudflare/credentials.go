package cloudflare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	// filePrefix begins a value that is the path of a file with the secret.
	filePrefix = "file:"
	// maxSecretSize limits such a file in bytes.
	maxSecretSize = 64 << 10
)

// credentials authenticate requests.
type credentials struct {
	// token is the API token of a user or account. If it is empty, key and the e-mail address are used.
	token, key secret
	email      string
}

// credentialsOf reads the credentials from the environment: a token, or else a user's global key.
func credentialsOf(getenv func(string) string) (credentials, error) {
	const tokenVariable, keyVariable, emailVariable = "CF_API_TOKEN", "CF_API_KEY", "CF_API_EMAIL"
	var c credentials
	switch {
	case getenv(tokenVariable) != "":
		c.token = secret{tokenVariable, getenv(tokenVariable)}
	case getenv(keyVariable) != "" && getenv(emailVariable) != "":
		c.key, c.email = secret{keyVariable, getenv(keyVariable)}, getenv(emailVariable)
	default:
		return c, fmt.Errorf("no credentials for Cloudflare: set the variable %s to a token, or to %sPATH, or set %s and %s", tokenVariable, filePrefix, keyVariable, emailVariable)
	}
	// A file that is missing at the start is an error.
	for _, s := range []secret{c.token, c.key} {
		if s.value != "" {
			if _, err := s.read(); err != nil {
				return c, err
			}
		}
	}
	return c, nil
}

// account returns what identifies the user in memory: a hash of the secret, which nobody can use.
func (c credentials) account() (string, error) {
	used := c.key
	if c.token.value != "" {
		used = c.token
	}
	text, err := used.read()
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256([]byte(c.email + "\x00" + text))
	return hex.EncodeToString(hash[:]), nil
}

// show sets the header of a request.
func (c credentials) show(header http.Header) error {
	if c.token.value != "" {
		token, err := c.token.read()
		if err != nil {
			return fmt.Errorf("%w: %w", provider.ErrCredentials, err)
		}
		header.Set("Authorization", "Bearer "+token)
		return nil
	}
	key, err := c.key.read()
	if err != nil {
		return fmt.Errorf("%w: %w", provider.ErrCredentials, err)
	}
	header.Set("X-Auth-Key", key)
	header.Set("X-Auth-Email", c.email)
	return nil
}

// secret is a secret, or the path of its file.
type secret struct {
	// variable is the environment variable of value.
	variable, value string
}

// read returns the secret. A file is read for each request, because it may be replaced. Errors show no part
// of the secret.
func (s secret) read() (string, error) {
	path, file := strings.CutPrefix(strings.TrimSpace(s.value), filePrefix)
	text := path
	if file {
		content, err := provider.ReadFile(path, maxSecretSize)
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.variable, err)
		}
		text = strings.TrimSpace(string(content))
	}
	if text == "" {
		return "", fmt.Errorf("%s: empty: give a token or key of Cloudflare", s.variable)
	}
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' {
			return "", fmt.Errorf("%s: it has a character that no token or key has", s.variable)
		}
	}
	return text, nil
}
