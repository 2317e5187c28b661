package google

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/pause"
	"github.com/signpostd/signpost/internal/sanitize"
)

// credentialsFile is the environment variable for the path of a credentials file.
const credentialsFile = "GOOGLE_APPLICATION_CREDENTIALS"

const (
	// tokenLimit limits the response with a token in bytes.
	tokenLimit = 1 << 20
	// lastMoment is the remaining lifetime below which a token isn't used. lastTries limits the requests for
	// another token in that time.
	lastMoment = 5 * time.Second
	lastTries  = 6
)

// access gets access tokens with the Application Default Credentials.
type access struct {
	// client sends the token requests.
	client *http.Client
	// credentials are those of the credentials file as it is now, or else of the machine.
	credentials provider.FromFiles[*auth.Credentials]
}

// openAccess returns an access. If the environment names a credentials file, openAccess reads it. Otherwise
// the first request asks the metadata server.
func openAccess(ctx context.Context, in provider.Input) (*access, error) {
	// Token requests change nothing, so they are also sent in a dry run.
	in.DryRun = false
	client, err := httpapi.NewClient(ctx, in, httpapi.Options{MaxResponse: tokenLimit})
	if err != nil {
		return nil, err
	}
	// The library gets new tokens in the background, without a timeout of its own.
	client.Timeout = timeout
	a := &access{client: client}
	a.credentials.Make, a.credentials.Log = a.find, in.Log
	if path := os.Getenv(credentialsFile); path != "" {
		a.credentials.Paths = []string{path}
		if _, err := a.credentials.Get(); err != nil {
			return nil, fmt.Errorf("%s=%s: %w: give the path of a credentials file of Google", credentialsFile, path, err)
		}
	}
	return a, nil
}

// find returns the credentials that the library finds.
func (a *access) find() (*auth.Credentials, error) {
	return credentials.DetectDefault(&credentials.DetectOptions{
		Scopes: []string{dnsapi.NdevClouddnsReadwriteScope}, Client: a.client, DisableAsyncRefresh: true,
	})
}

// token returns an access token, and the project whose quota is used, or "".
func (a *access) token(ctx context.Context) (token, quota string, err error) {
	found, err := a.credentials.Get()
	if err != nil {
		return "", "", fmt.Errorf("%w: find the credentials of Google: %w: set %s, or use the service account of the machine", provider.ErrCredentials, err, credentialsFile)
	}
	t, err := freshToken(ctx, found)
	if err != nil {
		return "", "", tokenError(ctx, err)
	}
	// Without a configured quota project, that of the credentials is used.
	quota, _ = found.QuotaProjectID(ctx)
	return t.Value, quota, nil
}

// freshToken returns a token that is still valid when its request arrives. The library returns the old token
// until it expires, and gets another one in the background.
func freshToken(ctx context.Context, from auth.TokenProvider) (*auth.Token, error) {
	for try := 0; ; try++ {
		t, err := from.Token(ctx)
		if err != nil || t.Expiry.IsZero() || time.Until(t.Expiry) > lastMoment || try == lastTries {
			return t, err
		}
		if err := pause.For(ctx, lastMoment/lastTries); err != nil {
			return nil, err
		}
	}
}

// tokenError returns the error for a failed token request. Only a response of the token server means that the
// credentials are wrong.
func tokenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	response, ok := errors.AsType[*auth.Error](err)
	if !ok || response.Response == nil {
		return fmt.Errorf("get an access token of Google: %s", sanitize.Quote(err.Error()))
	}
	status := response.Response.StatusCode
	said := fmt.Errorf("get an access token of Google: answered with status %d and %s", status, sanitize.Quote(string(response.Body)))
	if outcome := httpapi.Outcome(status, response.Response.Header); errors.Is(outcome, provider.ErrRejected) || errors.Is(outcome, provider.ErrCredentials) {
		return fmt.Errorf("%w: %w: check the credentials, and the clock", provider.ErrCredentials, said)
	}
	return said
}
