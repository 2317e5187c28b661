package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Audience is the audience of the tokens of clients: a token for another server is refused.
const Audience = "signpost-xds"

const (
	// maxToken limits a token in bytes.
	maxToken = 12 << 10
	// skew is the tolerated clock difference to the API server.
	skew = 10 * time.Second
	// refreshInterval is how often the keys are read, and retryInterval how soon after a failure or
	// for a token that was signed with an unknown key.
	refreshInterval, retryInterval = 5 * time.Minute, 5 * time.Second
	// fetchTime limits a request to the API server.
	fetchTime = 10 * time.Second
)

// The documents of the API server about its tokens.
const (
	configurationPath = "/.well-known/openid-configuration"
	keysPath          = "/openid/v1/jwks"
)

// Paths returns the paths of the API server that have to be readable for [Keys].
func Paths() []string { return []string{configurationPath, keysPath} }

// Fetch returns the body of a document of the API server.
type Fetch func(ctx context.Context, path string) ([]byte, error)

// Keys verify service account tokens with the keys of the API server. Make them with [NewKeys].
type Keys struct {
	fetch Fetch
	log   *slog.Logger
	// known is nil until the keys could be read.
	known atomic.Pointer[keySet]
	// wanted has a value when a token was signed with an unknown key.
	wanted chan struct{}
}

// NewKeys returns keys that are unknown until Run has read them.
func NewKeys(fetch Fetch, log *slog.Logger) *Keys {
	return &Keys{fetch: fetch, log: log, wanted: make(chan struct{}, 1)}
}

// Ready reports whether tokens can be verified.
func (k *Keys) Ready() bool { return k.known.Load() != nil }

// Run refreshes the keys until the context ends. After a failure the last keys stay in use.
func (k *Keys) Run(ctx context.Context) error {
	failing := false
	for {
		err := k.refresh(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err != nil && !failing:
			k.log.Error("Keys of service account tokens can't be read: the last ones stay in force", "err", err)
		case err == nil && failing:
			k.log.Info("Keys of service account tokens were read again")
		}
		failing = err != nil
		if !k.rest(ctx, failing) {
			return nil
		}
	}
}

// rest waits for the next refresh of the keys, at least for retryInterval. rest returns false when
// the context ends.
func (k *Keys) rest(ctx context.Context, failing bool) bool {
	if !wait(ctx, time.After(retryInterval), nil) {
		return false
	}
	return failing || wait(ctx, time.After(refreshInterval-retryInterval), k.wanted)
}

func wait(ctx context.Context, until <-chan time.Time, or <-chan struct{}) bool {
	select {
	case <-ctx.Done():
		return false
	case <-until:
	case <-or:
	}
	return true
}

func (k *Keys) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	configuration, err := k.fetch(ctx, configurationPath)
	if err != nil {
		return err
	}
	list, err := k.fetch(ctx, keysPath)
	if err != nil {
		return err
	}
	set, err := parseKeys(configuration, list)
	if err != nil {
		return err
	}
	k.known.Store(set)
	return nil
}

// claims are the used claims of a token.
type claims struct {
	jwt.RegisteredClaims
	Kubernetes struct {
		Namespace      string `json:"namespace"`
		ServiceAccount named  `json:"serviceaccount"`
		Pod            named  `json:"pod"`
		Node           named  `json:"node"`
	} `json:"kubernetes.io"`
}

type named struct {
	Name string `json:"name"`
}

var errUnknownKey = errors.New("the token was signed with an unknown key")

// Authenticate is the [Authenticator] for tokens.
func (k *Keys) Authenticate(ctx context.Context) (Identity, error) {
	token, err := bearer(ctx)
	if err != nil {
		return Identity{}, err
	}
	set := k.known.Load()
	if set == nil {
		return Identity{}, status.Error(codes.Unavailable, "this replica doesn't know the keys of tokens yet; ask another one, or ask again")
	}
	var c claims
	_, err = jwt.ParseWithClaims(token, &c, set.keyOf, jwt.WithValidMethods(algorithms), jwt.WithAudience(Audience),
		jwt.WithIssuer(set.issuer), jwt.WithExpirationRequired(), jwt.WithLeeway(skew))
	if errors.Is(err, errUnknownKey) {
		select {
		case k.wanted <- struct{}{}:
		default:
		}
	}
	if err != nil {
		return Identity{}, refusef("the token can't be used: %s", reason(err))
	}
	of := c.Kubernetes
	if of.Namespace == "" || of.ServiceAccount.Name == "" {
		return Identity{}, refusef("the token is not that of a service account")
	}
	return Identity{Namespace: of.Namespace, ServiceAccount: of.ServiceAccount.Name, Pod: of.Pod.Name, Node: of.Node.Name}, nil
}

// reason returns the reason of a refusal. Errors of the parser are not used, because they may quote
// the token.
func reason(err error) string {
	for _, known := range []struct {
		is   error
		text string
	}{
		{errUnknownKey, "it was signed with a key that the API server doesn't publish; if the key is new, try again in some seconds"},
		{jwt.ErrTokenExpired, "it has expired"},
		{jwt.ErrTokenNotValidYet, "it is not valid yet"},
		{jwt.ErrTokenInvalidAudience, "it needs the audience " + Audience},
		{jwt.ErrTokenInvalidIssuer, "it is that of another issuer"},
		{jwt.ErrTokenSignatureInvalid, "its signature is wrong"},
		{jwt.ErrTokenRequiredClaimMissing, "it has no expiry, audience or issuer"},
	} {
		if errors.Is(err, known.is) {
			return known.text
		}
	}
	return "it is no service account token"
}
