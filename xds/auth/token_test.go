package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const issuer = "https://kubernetes.default.svc"

// apiServer has keys and publishes them.
type apiServer struct {
	mu        sync.Mutex
	published map[string]crypto.PublicKey
	away      bool
	requests  int
}

func (a *apiServer) fetch(_ context.Context, path string) ([]byte, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests++
	switch {
	case a.away:
		return nil, errors.New("connection refused")
	case path == configurationPath:
		return json.Marshal(map[string]string{"issuer": issuer})
	}
	text := base64.RawURLEncoding.EncodeToString
	list := []map[string]string{{"kty": "oct", "kid": "secret"}, {"kty": "EC", "kid": "off", "crv": "P-256", "x": "AQ", "y": "AQ"}, {"kty": "RSA", "kid": "bad", "n": "!"}}
	for id, key := range a.published {
		switch key := key.(type) {
		case *rsa.PublicKey:
			list = append(list, map[string]string{"kty": "RSA", "kid": id, "n": text(key.N.Bytes()), "e": text(big.NewInt(int64(key.E)).Bytes())})
		case *ecdsa.PublicKey:
			point, err := key.Bytes()
			if err != nil {
				return nil, err
			}
			list = append(list, map[string]string{"kty": "EC", "kid": id, "crv": key.Curve.Params().Name, "x": text(point[1:33]), "y": text(point[33:])})
		}
	}
	return json.Marshal(map[string]any{"keys": list})
}

// change changes what the API server does, and returns how many requests it has had.
func (a *apiServer) change(edit func()) (requests int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	edit()
	return a.requests
}

// shopClaims are those of a token of the service account shop/web.
func shopClaims(edit func(jwt.MapClaims)) jwt.MapClaims {
	c := jwt.MapClaims{
		"iss": issuer, "aud": []string{Audience}, "exp": time.Now().Add(time.Hour).Unix(), "sub": "system:serviceaccount:shop:web",
		"kubernetes.io": map[string]any{
			"namespace": "shop", "serviceaccount": map[string]string{"name": "web"}, "pod": map[string]string{"name": "web-0"}, "node": map[string]string{"name": "n1"},
		},
	}
	if edit != nil {
		edit(c)
	}
	return c
}

func signed(t *testing.T, method jwt.SigningMethod, id string, key any, c jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, c)
	token.Header["kid"] = id
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func with(values ...string) context.Context {
	pairs := make([]string, 0, 2*len(values))
	for _, v := range values {
		pairs = append(pairs, "authorization", v)
	}
	return metadata.NewIncomingContext(context.Background(), metadata.Pairs(pairs...))
}

func newRSA(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Case 60: who is let in, and what the others are told.
func TestTokens(t *testing.T) {
	one, stranger := newRSA(t), newRSA(t)
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	api := &apiServer{published: map[string]crypto.PublicKey{"rsa": &one.PublicKey, "ec": &curve.PublicKey}}
	keys := NewKeys(api.fetch, slog.New(slog.DiscardHandler))
	if _, err := keys.Authenticate(with("Bearer " + signed(t, jwt.SigningMethodRS256, "rsa", one, shopClaims(nil)))); status.Code(err) != codes.Unavailable || keys.Ready() {
		t.Errorf("before the keys are known: %v", err)
	}
	if err := keys.refresh(t.Context()); err != nil || !keys.Ready() {
		t.Fatalf("%v, ready %v", err, keys.Ready())
	}
	rs := func(edit func(jwt.MapClaims)) string {
		return "Bearer " + signed(t, jwt.SigningMethodRS256, "rsa", one, shopClaims(edit))
	}
	everything := Identity{Namespace: "shop", Pod: "web-0", Node: "n1"}
	for name, tt := range map[string]struct {
		values []string
		want   Identity
		reason string // empty if the client is let in
	}{
		"RSA":            {[]string{rs(nil)}, everything, ""},
		"EC, lower case": {[]string{"bearer " + signed(t, jwt.SigningMethodES256, "ec", curve, shopClaims(nil))}, everything, ""},
		"no pod and node": {[]string{rs(func(c jwt.MapClaims) {
			delete(c["kubernetes.io"].(map[string]any), "pod")
			delete(c["kubernetes.io"].(map[string]any), "node")
		})}, Identity{Namespace: "shop"}, ""},
		"expired within 10s": {[]string{rs(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-5 * time.Second).Unix() })}, everything, ""},
		"no token":           {nil, Identity{}, "0 authorization headers"},
		"two tokens":         {[]string{rs(nil), rs(nil)}, Identity{}, "2 authorization headers"},
		"not a bearer":       {[]string{"Basic YTpi"}, Identity{}, "not \"Bearer TOKEN\""},
		"no JWT":             {[]string{"Bearer abc"}, Identity{}, "no service account token"},
		"too long":           {[]string{"Bearer " + strings.Repeat("x", maxToken+1)}, Identity{}, "may have"},
		"expired":            {[]string{rs(func(c jwt.MapClaims) { c["exp"] = time.Now().Add(-time.Minute).Unix() })}, Identity{}, "expired"},
		"without expiry":     {[]string{rs(func(c jwt.MapClaims) { delete(c, "exp") })}, Identity{}, "no expiry"},
		"not valid yet":      {[]string{rs(func(c jwt.MapClaims) { c["nbf"] = time.Now().Add(time.Hour).Unix() })}, Identity{}, "not valid yet"},
		"another audience":   {[]string{rs(func(c jwt.MapClaims) { c["aud"] = []string{"api"} })}, Identity{}, "audience signpost-xds"},
		"another issuer":     {[]string{rs(func(c jwt.MapClaims) { c["iss"] = "https://evil" })}, Identity{}, "issuer"},
		"of a user":          {[]string{rs(func(c jwt.MapClaims) { delete(c, "kubernetes.io") })}, Identity{}, "not that of a service account"},
		"another key":        {[]string{"Bearer " + signed(t, jwt.SigningMethodRS256, "rsa", stranger, shopClaims(nil))}, Identity{}, "signature"},
		"an unknown key":     {[]string{"Bearer " + signed(t, jwt.SigningMethodRS256, "new", stranger, shopClaims(nil))}, Identity{}, "doesn't publish"},
		"no algorithm":       {[]string{"Bearer " + signed(t, jwt.SigningMethodNone, "rsa", jwt.UnsafeAllowNoneSignatureType, shopClaims(nil))}, Identity{}, "can't be used"},
		"HMAC by the key":    {[]string{"Bearer " + signed(t, jwt.SigningMethodHS256, "rsa", one.N.Bytes(), shopClaims(nil))}, Identity{}, "can't be used"},
		"EC by an RSA key":   {[]string{"Bearer " + signed(t, jwt.SigningMethodES256, "rsa", curve, shopClaims(nil))}, Identity{}, "can't be used"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := keys.Authenticate(with(tt.values...))
			switch {
			case got != tt.want:
				t.Errorf("identity %+v", got)
			case tt.reason == "" && err != nil:
				t.Error(err)
			case tt.reason != "" && (status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), tt.reason)):
				t.Errorf("%v, want Unauthenticated: %s", err, tt.reason)
			}
		})
	}
}

// Case 60: new keys are known soon after a token was signed with one, and old ones stay in force
// while the API server is away. Tokens with unknown keys cause few requests.
func TestKeysAreReplaced(t *testing.T) {
	before, after := newRSA(t), newRSA(t)
	synctest.Test(t, func(t *testing.T) {
		api := &apiServer{published: map[string]crypto.PublicKey{"before": &before.PublicKey}}
		keys := NewKeys(api.fetch, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = keys.Run(ctx)
		}()
		sleep := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		letIn := func(id string, key *rsa.PrivateKey) bool {
			_, err := keys.Authenticate(with("Bearer " + signed(t, jwt.SigningMethodRS256, id, key, shopClaims(nil))))
			synctest.Wait()
			return err == nil
		}
		synctest.Wait()
		if !letIn("before", before) {
			t.Fatal("the first key isn't known")
		}
		api.change(func() { api.away = true })
		sleep(time.Hour)
		if !letIn("before", before) {
			t.Error("while the API server is away, keys are forgotten")
		}
		api.change(func() { api.away, api.published = false, map[string]crypto.PublicKey{"after": &after.PublicKey} })
		sleep(retryInterval)
		if !letIn("after", after) || letIn("before", before) {
			t.Error("after a failure, the new keys aren't known")
		}
		api.change(func() { api.published["before"] = &before.PublicKey })
		sleep(retryInterval)
		letIn("before", before)
		if !letIn("before", before) {
			t.Error("a token with a new key doesn't make it known")
		}
		requests := api.change(func() {})
		for range 100 {
			letIn("unknown", before)
			sleep(100 * time.Millisecond)
		}
		if n := api.change(func() {}) - requests; n > 2*3 {
			t.Errorf("%d requests in 10 s because of unknown keys", n)
		}
		stop()
		<-ended
	})
}
