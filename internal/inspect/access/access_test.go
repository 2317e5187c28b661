package access_test

import (
	"context"
	"errors"
	"fmt"
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

	"github.com/signpostd/signpost/internal/inspect"
	"github.com/signpostd/signpost/internal/inspect/access"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server answers reviews: the token names the user, and alice may get everything.
type server struct {
	reviews atomic.Int32
	down    atomic.Bool
	forbids string
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
			o.Status.User = authenticationv1.UserInfo{Username: o.Spec.Token}
			return true, o, nil
		case *authorizationv1.SubjectAccessReview:
			o.Status.Allowed = o.Spec.User == "alice" && strings.HasPrefix(o.Spec.NonResourceAttributes.Path, access.Prefix+inspect.Root+"/") && o.Spec.NonResourceAttributes.Verb == "get"
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
		"huge":              {token: strings.Repeat("a", 1<<20), verb: "get", refused: true, want: "1048576 bytes"},
		"a hostile name":    {token: "x\n" + strings.Repeat("y", 10000), verb: "get", refused: true, want: `"x\nyyy`},
		"no right to ask":   {token: "alice", verb: "get", forbids: "tokenreviews", want: "system:auth-delegator"},
		"no right to ask 2": {token: "alice", verb: "get", forbids: "subjectaccessreviews", want: "system:auth-delegator"},
		"no API server":     {token: "alice", verb: "get", down: true, want: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{forbids: test.forbids}
			s.down.Store(test.down)
			err := access.New(s.client()).Allow(t.Context(), test.token, test.verb, inspect.StatusPath)
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

// An answer is remembered for a short time, and an API server that is away costs nobody who was let
// in just before.
func TestRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := access.New(s.client())
		ask := func() error { return r.Allow(t.Context(), "alice", "get", inspect.StatusPath) }
		for range 100 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		if n := s.reviews.Load(); n != 2 {
			t.Errorf("%d reviews, want 2", n)
		}
		s.down.Store(true)
		time.Sleep(29 * time.Second)
		if err := ask(); err != nil {
			t.Errorf("after 29 s: %v", err)
		}
		time.Sleep(2 * time.Second)
		if ask() == nil {
			t.Error("a token counts for more than 30 s without the API server")
		}
	})
}

// Wrong tokens at any rate reach the API server at a bounded rate, and don't fill the memory.
func TestManyTokens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		r := access.New(s.client())
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range 5000 {
			all.Go(func() { _ = r.Allow(ctx, fmt.Sprint("bad", i), "get", inspect.StatusPath) })
		}
		all.Wait()
		if n := s.reviews.Load(); n > 20+5*10+1 {
			t.Errorf("%d reviews in 5 s", n)
		}
		// Requests with one token wait for one review.
		time.Sleep(10 * time.Second)
		before := s.reviews.Load()
		for range 10 {
			all.Go(func() {
				if err := r.Allow(t.Context(), "alice", "get", inspect.StatusPath); err != nil {
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
