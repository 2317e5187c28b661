package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Audience is the audience of the tokens of clients: a token for another server is refused.
const Audience = "signpost-xds"

const (
	maxToken = 12 << 10         // bytes
	maxKeys  = 64               // during a rotation there are several
	skew     = 10 * time.Second // allowed difference from the clock of the API server
	// refreshInterval is how often the keys are read. retryInterval is the delay after a failure,
	// and after a token that was signed with an unknown key.
	refreshInterval, retryInterval = 5 * time.Minute, 5 * time.Second
	fetchTime                      = 10 * time.Second // to read both documents
)

// algorithms are those of the signatures of API servers.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.ES256, jose.ES384, jose.ES512}

// The documents of the API server about its tokens.
const (
	configurationPath = "/.well-known/openid-configuration"
	keysPath          = "/openid/v1/jwks"
)

// Paths returns the paths of the API server that have to be readable for [Keys].
func Paths() []string { return []string{configurationPath, keysPath} }

// Fetch returns the body of a document of the API server.
type Fetch func(ctx context.Context, path string) ([]byte, error)

// keySet has the issuer and the keys of the tokens of an API server. Key sets are immutable.
type keySet struct {
	issuer string
	keys   jose.JSONWebKeySet
}

// Keys verify service account tokens with the keys of the API server. Make them with [NewKeys].
type Keys struct {
	fetch  Fetch
	log    *slog.Logger
	known  atomic.Pointer[keySet] // nil until the keys could be read
	wanted atomic.Bool            // after a token that was signed with an unknown key
}

// NewKeys returns keys that are unknown until Run has read them.
func NewKeys(fetch Fetch, log *slog.Logger) *Keys {
	return &Keys{fetch: fetch, log: log}
}

// Ready reports whether tokens can be verified.
func (k *Keys) Ready() bool { return k.known.Load() != nil }

// Run refreshes the keys until the context ends. After a failure the last keys stay in use.
func (k *Keys) Run(ctx context.Context) error {
	tick := time.Tick(retryInterval)
	failing, due := false, time.Time{}
	for {
		if wanted := k.wanted.Swap(false); wanted || failing || !time.Now().Before(due) {
			err := k.refresh(ctx)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && !failing:
				k.log.Error("Keys of service account tokens can't be read: the last ones stay in force", "err", err)
			case err == nil && failing:
				k.log.Info("Keys of service account tokens were read again")
			}
			failing, due = err != nil, time.Now().Add(refreshInterval)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
	}
}

func (k *Keys) refresh(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	var documents [2][]byte
	for i, path := range Paths() {
		var err error
		if documents[i], err = k.fetch(ctx, path); err != nil {
			return err
		}
	}
	set, err := parseKeys(documents[0], documents[1])
	if err == nil {
		k.known.Store(set)
	}
	return err
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
	s := &keySet{issuer: about.Issuer}
	for _, text := range found.Keys[:min(len(found.Keys), maxKeys)] {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(text); err == nil && key.Valid() && key.IsPublic() {
			s.keys.Keys = append(s.keys.Keys, key)
		}
	}
	if len(s.keys.Keys) == 0 {
		return nil, fmt.Errorf("read the keys of tokens: %s has none that can be used", keysPath)
	}
	return s, nil
}

// claims are the used claims of a token.
type claims struct {
	jwt.Claims
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
	c, err := set.verify(token)
	if errors.Is(err, jose.ErrJWKSKidNotFound) {
		k.wanted.Store(true)
	}
	if err != nil {
		return Identity{}, refusef("the token can't be used: %s", reason(err))
	}
	of := c.Kubernetes
	if of.Namespace == "" || of.ServiceAccount.Name == "" {
		return Identity{}, refusef("the token is not that of a service account")
	}
	return Identity{Namespace: of.Namespace, Pod: of.Pod.Name, Node: of.Node.Name}, nil
}

var errNoExpiry = errors.New("the token has no expiry")

// verify returns the claims of a token with a valid signature, for our audience.
func (s *keySet) verify(token string) (c claims, err error) {
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return c, err
	}
	if err := parsed.Claims(s.keys, &c); err != nil {
		return c, err
	}
	if c.Expiry == nil {
		return c, errNoExpiry
	}
	return c, c.ValidateWithLeeway(jwt.Expected{Issuer: s.issuer, AnyAudience: jwt.Audience{Audience}}, skew)
}

// reason returns the reason of a refusal. Errors of the parser are not used, because they may quote
// the token.
func reason(err error) string {
	for known, text := range map[error]string{
		jose.ErrJWKSKidNotFound:  "it was signed with a key that the API server doesn't publish; if the key is new, try again in some seconds",
		jwt.ErrExpired:           "it has expired",
		jwt.ErrNotValidYet:       "it is not valid yet",
		jwt.ErrIssuedInTheFuture: "it is not valid yet",
		jwt.ErrInvalidAudience:   "it needs the audience " + Audience,
		jwt.ErrInvalidIssuer:     "it is that of another issuer",
		jose.ErrCryptoFailure:    "its signature is wrong",
		errNoExpiry:              "it has no expiry",
	} {
		if errors.Is(err, known) {
			return text
		}
	}
	return "it is no service account token"
}
