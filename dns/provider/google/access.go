package google

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials"
	dnsapi "google.golang.org/api/dns/v1"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/internal/pause"
	"github.com/signpostd/signpost/internal/sanitize"
)

// credentialsFile is the variable with the path of a credentials file.
const credentialsFile = "GOOGLE_APPLICATION_CREDENTIALS"

const (
	// tokenLimit is the most bytes of an answer with a token.
	tokenLimit = 1 << 20
	// lastMoment is how long before its end a token isn't used any more, and lastTries how often
	// the library is asked for another one in that time.
	lastMoment = 5 * time.Second
	lastTries  = 6
)

// access gets access tokens with the Application Default Credentials.
type access struct {
	// client sends the requests for tokens.
	client *http.Client

	mu sync.Mutex
	// credentials are nil until they were found.
	credentials *auth.Credentials
}

// openAccess returns an access. It reads the credentials file if the environment names one.
// Without it, the metadata server may have to be asked, which is for later.
func openAccess(ctx context.Context, in provider.Input) (*access, error) {
	// Requests for tokens change nothing, so they are sent in a dry run, too.
	in.DryRun = false
	client, err := httpapi.NewClient(ctx, in, httpapi.Options{MaxAnswer: tokenLimit})
	if err != nil {
		return nil, err
	}
	// The library gets a new token in the background, without a limit of time of its own.
	client.Timeout = timeout
	a := &access{client: client}
	if path := os.Getenv(credentialsFile); path != "" {
		if _, err := a.find(); err != nil {
			return nil, fmt.Errorf("%s=%s: %w: give the path of a credentials file of Google", credentialsFile, path, err)
		}
	}
	return a, nil
}

// find returns the credentials. What isn't found is looked for again the next time.
func (a *access) find() (*auth.Credentials, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.credentials != nil {
		return a.credentials, nil
	}
	found, err := credentials.DetectDefault(&credentials.DetectOptions{
		Scopes: []string{dnsapi.NdevClouddnsReadwriteScope}, Client: a.client, DisableAsyncRefresh: true,
	})
	if err != nil {
		return nil, err
	}
	a.credentials = found
	return found, nil
}

// token returns an access token, and the project whose quota is used, which may be empty.
func (a *access) token(ctx context.Context) (token, quota string, err error) {
	found, err := a.find()
	if err != nil {
		return "", "", fmt.Errorf("%w: find the credentials of Google: %w: set %s, or use the service account of the machine", provider.ErrCredentials, err, credentialsFile)
	}
	t, err := fresh(ctx, found)
	if err != nil {
		return "", "", tokenError(ctx, err)
	}
	// Without a quota project, that of the credentials is used.
	quota, _ = found.QuotaProjectID(ctx)
	return t.Value, quota, nil
}

// fresh returns a token that doesn't end before its request arrives. The library returns the last
// one until its last moment, while it gets another one in the background.
func fresh(ctx context.Context, from auth.TokenProvider) (*auth.Token, error) {
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

// tokenError returns the error for a token that wasn't given. Only an answer of the token server
// says that the credentials are at fault.
func tokenError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	answer, ok := errors.AsType[*auth.Error](err)
	if !ok || answer.Response == nil {
		return fmt.Errorf("get an access token of Google: %s", sanitize.Quote(err.Error()))
	}
	status := answer.Response.StatusCode
	said := fmt.Errorf("get an access token of Google: answered with status %d and %s", status, sanitize.Quote(string(answer.Body)))
	if outcome := httpapi.Outcome(status, answer.Response.Header); errors.Is(outcome, provider.ErrRejected) || errors.Is(outcome, provider.ErrCredentials) {
		return fmt.Errorf("%w: %w: check the credentials, and the clock", provider.ErrCredentials, said)
	}
	return said
}
