package azuretest

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// tokenLife is the lifetime of a token.
const tokenLife = time.Hour

// Assertion is the token of a Kubernetes service account that the server accepts. Identity is the client ID
// of the machine's managed identity.
const (
	Assertion = "the-service-account-token"
	Identity  = "identity"
)

// identity returns the handler of a request that isn't for the resource manager: for discovery (OpenID
// Connect Discovery 1.0, 4), or for a token (RFC 6749, 4.4;
// managed-identities-azure-resources/how-to-use-vm-token). It is nil for other requests.
func (s *Server) identity(r *http.Request, body string) func() (answer, *Fault) {
	base := "https://" + r.Host
	switch path := strings.Trim(r.URL.Path, "/"); {
	case path == "common/discovery/instance":
		return func() (answer, *Fault) {
			host := r.Host
			if u, err := url.Parse(r.URL.Query().Get("authorization_endpoint")); err == nil && u.Host != "" {
				host, base = u.Host, "https://"+u.Host
			}
			return answer{200, map[string]any{"tenant_discovery_endpoint": base + "/" + Tenant + "/v2.0/.well-known/openid-configuration", "metadata": []any{
				map[string]any{"preferred_network": host, "preferred_cache": host, "aliases": []string{host}},
			}}}, nil
		}
	case path == Tenant+"/v2.0/.well-known/openid-configuration":
		return func() (answer, *Fault) {
			return answer{200, map[string]string{
				"issuer": base + "/" + Tenant + "/v2.0", "token_endpoint": base + "/" + Tenant + "/oauth2/v2.0/token", "authorization_endpoint": base + "/" + Tenant + "/oauth2/v2.0/authorize",
			}}, nil
		}
	case path == Tenant+"/oauth2/v2.0/token":
		return func() (answer, *Fault) { return s.grant(body) }
	case path == "metadata/identity/oauth2/token":
		return func() (answer, *Fault) {
			if id := r.URL.Query().Get("client_id"); r.Header.Get("Metadata") != "true" || id != "" && id != Identity {
				return answer{400, map[string]string{"error": "invalid_request", "error_description": "Identity not found"}}, nil
			}
			return s.token(), nil
		}
	}
	return nil
}

// grant handles a token request of an application.
func (s *Server) grant(body string) (answer, *Fault) {
	form, err := url.ParseQuery(body)
	if err != nil || form.Get("grant_type") != "client_credentials" || form.Get("client_id") != ClientID {
		return unauthorized("AADSTS700016: Application with identifier '" + form.Get("client_id") + "' was not found in the directory."), nil
	}
	if form.Get("client_secret") != ClientSecret && form.Get("client_assertion") != Assertion {
		return unauthorized("AADSTS7000215: Invalid client secret provided."), nil
	}
	if !strings.HasSuffix(form.Get("scope"), "/.default") && !strings.Contains(form.Get("scope"), "/.default ") {
		return answer{400, map[string]string{"error": "invalid_scope", "error_description": "AADSTS70011: The provided value for the input parameter 'scope' is not valid."}}, nil
	}
	return s.token(), nil
}

func unauthorized(description string) answer {
	return answer{401, map[string]any{"error": "invalid_client", "error_description": description + " Trace ID: 1 Correlation ID: 2 Timestamp: now", "error_codes": []int{7000215}}}
}

func (s *Server) token() answer {
	token := fmt.Sprintf("token-%d", len(s.tokens)+1)
	s.tokens[token] = time.Now().Add(tokenLife)
	return answer{200, map[string]any{
		"token_type": "Bearer", "access_token": token, "expires_in": int(tokenLife.Seconds()), "ext_expires_in": int(tokenLife.Seconds()),
		"expires_on": fmt.Sprint(time.Now().Add(tokenLife).Unix()),
	}}
}
