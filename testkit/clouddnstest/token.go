package clouddnstest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/testkit/apitest"
)

const (
	// Account is the service account that may use the API.
	Account = "publisher@" + Project + ".iam.gserviceaccount.com"
	// Scope is the scope that a token needs.
	Scope = "https://www.googleapis.com/auth/ndev.clouddns.readwrite"

	tokenPath = "/token"
	tokenURL  = "https://oauth2.googleapis.com" + tokenPath
	lifetime  = time.Hour
	keyBits   = 2048
	grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"
)

// key is the key of the service account. It is created once, because that is slow.
var key = sync.OnceValue(func() *rsa.PrivateKey {
	k, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		panic(err) // The source of random numbers doesn't fail.
	}
	return k
})

// CredentialsJSON returns the credentials file of the service account, for GOOGLE_APPLICATION_CREDENTIALS.
func CredentialsJSON() []byte {
	der, err := x509.MarshalPKCS8PrivateKey(key())
	if err != nil {
		panic(err) // An RSA key can be marshalled.
	}
	text, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": Project, "client_email": Account, "private_key_id": "1",
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), "token_uri": tokenURL,
	})
	if err != nil {
		panic(err) // A map of strings can be encoded.
	}
	return text
}

type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	ExpiresIn   int    `json:"expires_in"`
	TokenType   string `json:"token_type"`
}

// serveToken exchanges a signed assertion for a token (oauth2/service-account).
func (s *Server) serveToken(w http.ResponseWriter, r *http.Request, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err == nil && form.Get("grant_type") != grantType {
		err = fmt.Errorf("unknown grant type")
	}
	if err == nil {
		err = s.verify(form.Get("assertion"))
	}
	if r.Method != http.MethodPost || err != nil {
		apitest.WriteJSON(w, http.StatusBadRequest, contentType, map[string]string{"error": "invalid_grant", "error_description": fmt.Sprint("Invalid JWT: ", err)})
		return
	}
	apitest.WriteJSON(w, http.StatusOK, contentType, s.issue())
}

func (s *Server) issue() tokenAnswer {
	s.mu.Lock()
	defer s.mu.Unlock()
	token := fmt.Sprintf("ya29.test-%d", len(s.tokens)+1)
	s.tokens[token] = time.Now().Add(lifetime)
	return tokenAnswer{AccessToken: token, ExpiresIn: int(lifetime.Seconds()), TokenType: "Bearer"}
}

// verify checks the signature and the claims of an assertion.
func (s *Server) verify(assertion string) error {
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 {
		return fmt.Errorf("%d parts", len(parts))
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err := rsa.VerifyPKCS1v15(&key().PublicKey, crypto.SHA256, sum[:], signature); err != nil {
		return err
	}
	text, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return err
	}
	var claims struct {
		Issuer   string `json:"iss"`
		Scope    string `json:"scope"`
		Audience string `json:"aud"`
		Issued   int64  `json:"iat"`
		Expires  int64  `json:"exp"`
	}
	if err := json.Unmarshal(text, &claims); err != nil {
		return err
	}
	now := time.Now().Unix()
	switch {
	case claims.Issuer != Account, claims.Audience != tokenURL:
		return fmt.Errorf("issuer %s, audience %s", claims.Issuer, claims.Audience)
	case !slices.Contains(strings.Fields(claims.Scope), Scope):
		return fmt.Errorf("scope %s", claims.Scope)
	case claims.Expires <= now || claims.Expires-claims.Issued > int64(lifetime.Seconds()):
		return fmt.Errorf("iat %d, exp %d", claims.Issued, claims.Expires)
	}
	return nil
}

// authorized checks the token of a request to the API.
func (s *Server) authorized(r *http.Request) *Fault {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	if ends, known := s.tokens[token]; ok && known && time.Now().Before(ends) {
		return nil
	}
	return &Fault{Status: 401, Reason: "authError", Message: "Request had invalid authentication credentials."}
}

// Revoke invalidates all tokens.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token := range s.tokens {
		s.tokens[token] = time.Time{}
	}
}
