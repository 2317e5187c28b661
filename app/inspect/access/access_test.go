package access_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/inspect/access"
	"github.com/signpostd/signpost/testkit/kubetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kubetest.Wrap(m)) }

// server responds to reviews: the token names the user, and alice may get everything.
type server struct {
	reviews atomic.Int32
	down    atomic.Bool
	forbids string
	// users are the owners of tokens that aren't called like them, and audiences says whether the
	// server knows audiences.
	users     map[string]string
	audiences bool
	// self is the user of the process; empty for its service account.
	self string
}

// status is an attempt to read the status with a token.
func status(token string) inspect.Attempt {
	return inspect.Attempt{Token: token, Verb: "get", Path: inspect.StatusPath, From: netip.MustParseAddr("192.0.2.7")}
}

// jwt returns a token with these claims, whose signature is wrong.
func jwt(claims string) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"RS256"}`)) + "." + part([]byte(claims)) + "." + part([]byte("signature"))
}

// Obviously invalid tokens are refused without a request to the API server (tenants S8).
func TestInvalidTokensCostNothing(t *testing.T) {
	s := &server{}
	r := access.New(s.client())
	now := time.Now().Unix()
	for name, token := range map[string]string{
		"expired":        jwt(fmt.Sprintf(`{"exp":%d}`, now-120)),
		"long ago":       jwt(`{"exp":1.5e9}`),
		"a huge date":    jwt(`{"exp":1e999}`),
		"no JSON":        jwt(`{"exp"`),
		"a text as date": jwt(`{"exp":"soon"}`),
		"no base64":      "a.b.c!",
		"empty parts":    "..",
		"cut off":        strings.TrimRight(jwt(`{}`), "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"),
		"no algorithm":   "e30.e30.e30",
	} {
		var refused *inspect.Refused
		if err := r.Allow(t.Context(), status(token)); !errors.As(err, &refused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := s.reviews.Load(); n != 0 {
		t.Errorf("%d reviews", n)
	}
	for name, token := range map[string]string{"valid for a while": jwt(fmt.Sprintf(`{"exp":%d}`, now+60)), "without an end": jwt(`{}`), "clocks differ": jwt(fmt.Sprintf(`{"exp":%d}`, now-30))} {
		before := s.reviews.Load()
		_ = r.Allow(t.Context(), status(token)) // the server says
		if s.reviews.Load() == before {
			t.Errorf("%s: the API server was not asked", name)
		}
	}
}

// A flood of wrong tokens locks out no token and no address that was allowed before, from however many
// addresses it comes, and a new client only if it comes from many (tenants S8).
func TestFloodOfWrongTokens(t *testing.T) {
	for addresses, newClient := range map[int]bool{4: true, 120: false} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{users: map[string]string{"alice2": "alice", "alice3": "alice"}}
			r := access.New(s.client())
			attempt := func(ctx context.Context, token, from string) error {
				a := status(token)
				a.From = netip.MustParseAddr(from)
				short, cancel := context.WithTimeout(ctx, 5*time.Second)
				defer cancel()
				return r.Allow(short, a)
			}
			if err := attempt(t.Context(), "alice", "192.0.2.7"); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			var all sync.WaitGroup
			for i := range 120 {
				all.Go(func() {
					for n := 0; ctx.Err() == nil; n++ {
						_ = attempt(ctx, fmt.Sprintf("bad-%d-%d", i, n), fmt.Sprintf("198.51.100.%d", i%addresses))
						time.Sleep(100 * time.Millisecond)
					}
				})
			}
			time.Sleep(time.Minute)
			if err := attempt(ctx, "alice", "203.0.113.1"); err != nil {
				t.Errorf("the token during a flood from %d addresses: %v", addresses, err)
			}
			if err := attempt(ctx, "alice2", "192.0.2.7"); err != nil {
				t.Errorf("the address with another token during a flood from %d addresses: %v", addresses, err)
			}
			if err := attempt(ctx, "alice3", "203.0.113.9"); newClient && err != nil {
				t.Errorf("a new client: %v", err)
			}
			stop()
			all.Wait()
			time.Sleep(10 * time.Second) // checks whose client has left end
		})
	}
}

// tenants S4: a token that our own service account got for the approval of a plan approves that plan.
func TestApprovalTokens(t *testing.T) {
	const hash, other = "0123456789abcdef", "fedcba9876543210"
	approval := jwt(fmt.Sprintf(`{"aud":[%q]}`, inspect.ApproveAudience(hash)))
	for name, test := range map[string]struct {
		path, verb, user string
		old              bool
		want             string
		self             string
	}{
		"the plan":                             {inspect.ApprovePath(hash), "post", "system:serviceaccount:dns:signpost", false, "", ""},
		"another plan":                         {inspect.ApprovePath(other), "post", "system:serviceaccount:dns:signpost", false, "may not post", ""},
		"another account":                      {inspect.ApprovePath(hash), "post", "system:serviceaccount:shop:evil", false, "may not post", ""},
		"a list":                               {inspect.PlanPath, "get", "system:serviceaccount:dns:signpost", false, "may not get", ""},
		"no plan":                              {inspect.PlanPath + "/" + hash + "/approve/x", "post", "system:serviceaccount:dns:signpost", false, "may not post", ""},
		"a server that ignores it":             {inspect.ApprovePath(hash), "post", "system:serviceaccount:dns:signpost", true, "not valid", ""},
		"an account with a role, also":         {inspect.ApprovePath(hash), "get", "alice", false, "", ""},
		"to read":                              {inspect.ApprovePath(hash), "get", "system:serviceaccount:dns:signpost", false, "may not get", ""},
		"a process that is no service account": {inspect.ApprovePath(hash), "post", "bob", false, "may not post", "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{users: map[string]string{approval: test.user}, audiences: !test.old, self: test.self}
			err := access.New(s.client()).Allow(t.Context(), inspect.Attempt{Token: approval, Verb: test.verb, Path: test.path})
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// A token for the approval of something that is no plan approves nothing.
func TestApprovalOfInvalidHash(t *testing.T) {
	const hash, own = "x", "system:serviceaccount:dns:signpost"
	approval := jwt(fmt.Sprintf(`{"aud":[%q]}`, inspect.ApproveAudience(hash)))
	s := &server{users: map[string]string{approval: own}, audiences: true}
	err := access.New(s.client()).Allow(t.Context(), inspect.Attempt{Token: approval, Verb: "post", Path: inspect.ApprovePath(hash)})
	if err == nil || !strings.Contains(err.Error(), "may not post") {
		t.Errorf("%v, want a refusal", err)
	}
}

func (s *server) client() *fake.Clientset {
	c := fake.NewClientset()
	c.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		resource := a.GetResource().Resource
		if s.down.Load() {
			return true, nil, errors.New("connection refused")
		}
		if s.forbids == resource {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no role"))
		}
		s.reviews.Add(1)
		switch o := a.(clienttesting.CreateAction).GetObject().(type) {
		case *authenticationv1.TokenReview:
			o.Status.Authenticated = !strings.HasPrefix(o.Spec.Token, "bad")
			o.Status.User = authenticationv1.UserInfo{Username: o.Spec.Token, UID: "7", Groups: []string{"g"}, Extra: map[string]authenticationv1.ExtraValue{"k": {"v"}}}
			if user, ok := s.users[o.Spec.Token]; ok {
				o.Status.User.Username = user
			}
			if s.audiences {
				o.Status.Audiences = o.Spec.Audiences
			}
			return true, o, nil
		case *authenticationv1.SelfSubjectReview:
			o.Status.UserInfo.Username = cmp.Or(s.self, "system:serviceaccount:dns:signpost")
			return true, o, nil
		case *authorizationv1.SubjectAccessReview:
			whole := o.Spec.UID == "7" && slices.Equal(o.Spec.Groups, []string{"g"}) && slices.Equal(o.Spec.Extra["k"], authorizationv1.ExtraValue{"v"})
			o.Status.Allowed = whole && o.Spec.User == "alice" && strings.HasPrefix(o.Spec.NonResourceAttributes.Path, access.Prefix+inspect.Root+"/") && o.Spec.NonResourceAttributes.Verb == "get"
			return true, o, nil
		default:
			return false, nil, nil
		}
	})
	return c
}

func TestAllow(t *testing.T) {
	for name, test := range map[string]struct {
		token, verb string
		forbids     string
		down        bool
		refused     bool
		want        string
	}{
		"may":               {token: "alice", verb: "get"},
		"may not this":      {token: "alice", verb: "post", refused: true, want: `nonResourceURLs ["/signpost/api/v1alpha1/*"] and verbs ["post"]`},
		"may not":           {token: "bob", verb: "get", refused: true, want: `"bob" may not get`},
		"not valid":         {token: "bad", verb: "get", refused: true, want: "kubectl create token"},
		"huge":              {token: strings.Repeat("a", 1<<20), verb: "get", refused: true, want: "the token has 1048576 bytes"},
		"a hostile name":    {token: "x\n" + strings.Repeat("y", 10000), verb: "get", refused: true, want: `"x\nyyy`},
		"no right to ask":   {token: "alice", verb: "get", forbids: "tokenreviews", want: "system:auth-delegator"},
		"no right to ask 2": {token: "alice", verb: "get", forbids: "subjectaccessreviews", want: "system:auth-delegator"},
		"no API server":     {token: "alice", verb: "get", down: true, want: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{forbids: test.forbids}
			s.down.Store(test.down)
			err := access.New(s.client()).Allow(t.Context(), inspect.Attempt{Token: test.token, Verb: test.verb, Path: inspect.StatusPath})
			var refused *inspect.Refused
			switch {
			case test.want == "":
				if err != nil {
					t.Error(err)
				}
			case err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, &refused) != test.refused || len(err.Error()) > 1000:
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// A decision is cached for a short time, so that a client that was just allowed stays allowed when
// the API server is unreachable.
func TestRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := access.New(s.client())
		ask := func() error { return r.Allow(t.Context(), status("alice")) }
		for range 100 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.reviews.Load(); n != 2 {
			t.Errorf("%d reviews, want 2", n)
		}
		s.down.Store(true)
		time.Sleep(19 * time.Second)
		if err := ask(); err != nil {
			t.Errorf("after 19 s: %v", err)
		}
		time.Sleep(2 * time.Second)
		if ask() == nil {
			t.Error("a token counts for more than 20 s without the API server")
		}
	})
}

// Wrong tokens reach the API server at a bounded rate, and use bounded memory.
func TestManyTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := access.New(s.client())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range 5000 {
			all.Go(func() { _ = r.Allow(ctx, status(fmt.Sprint("bad", i))) })
		}
		all.Wait()
		if n := s.reviews.Load(); n > 10+5*5+1 {
			t.Errorf("%d reviews in 5 s", n)
		}
		// Requests with one token wait for one review.
		time.Sleep(10 * time.Second)
		before := s.reviews.Load()
		for range 10 {
			all.Go(func() {
				if err := r.Allow(t.Context(), status("alice")); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := s.reviews.Load() - before; n != 2 {
			t.Errorf("%d reviews, want 2", n)
		}
	})
}
