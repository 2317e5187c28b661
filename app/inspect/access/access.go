// Package access authorises requests of the inspection API with two requests to the API server: who
// owns the token (TokenReview), and may the owner use the path (SubjectAccessReview). Package
// process creates a [Reviewer] in a cluster, and passes it to app/inspect.
//
// A role that allows all reads has this rule:
//
//	nonResourceURLs: ["/signpost/api/v1alpha1/*"]
//	verbs: ["get"]
//
// Paths in reviews begin with [Prefix]. Without it, every authenticated user could use all of them,
// because the default role system:discovery allows /api/*.
//
// One kind of token needs no role: a token of this process' service account, created for the
// approval of one plan ([inspect.ApproveAudience]). Whoever may create tokens of that account may
// do everything that this process may do.
//
// Responses are cached for a short time and in a limited number, and requests to the API server are
// rate-limited, so that neither many requests nor many wrong tokens overload it. A flood of wrong
// tokens leaves room for clients that were allowed before (budget.go), and obviously invalid tokens
// are refused without a request (token.go). A revoked token is refused after [allowedFor] at the
// latest.
//
// # Concurrency
//
// Allow may be called from any goroutine. Concurrent requests with the same token and path share
// one review.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/singleflight"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/internal/sanitize"
)

// Prefix is the prefix of the inspection API's paths in roles.
const Prefix = "/signpost"

const (
	// allowedFor and refusedFor are how long a decision is cached. allowedFor is shorter than the
	// interval of checks of an open stream, so that each check asks the API server.
	allowedFor, refusedFor = 20 * time.Second, 10 * time.Second
	// maxDecisions limits the cached decisions of each kind.
	maxDecisions = 256
	// maxToken limits a token in bytes.
	maxToken = 12 << 10
	// reviewTime limits a review.
	reviewTime = 5 * time.Second
)

// Reviewer implements [inspect.Access]. [New] creates it.
type Reviewer struct {
	client kubernetes.Interface
	budget *budget
	asking singleflight.Group

	// allowed and refused are the cached decisions, by [reviewKey]. They are apart, so that refusals evict no
	// decision that allows.
	allowed, refused *cache.LRUExpireCache
}

// reviewKey is a hash of a token, a verb and a path.
type reviewKey [sha256.Size]byte

// New returns a reviewer with a client of the API server.
func New(client kubernetes.Interface) *Reviewer {
	return &Reviewer{client: client, budget: newBudget(), allowed: cache.NewLRUExpireCache(maxDecisions), refused: cache.NewLRUExpireCache(maxDecisions)}
}

// Allow implements [inspect.Access].
func (r *Reviewer) Allow(ctx context.Context, a inspect.Attempt) error {
	if len(a.Token) > maxToken {
		return &inspect.Refused{Reason: fmt.Sprintf("the token has %d bytes: it may have %d", len(a.Token), maxToken)}
	}
	q := reviewKey(sha256.Sum256([]byte(a.Verb + " " + a.Path + "\n" + a.Token)))
	if known, err := r.known(q); known {
		return err
	}
	if reason := invalid(a.Token, time.Now()); reason != "" {
		return &inspect.Refused{Reason: reason}
	}
	who := client{token: sha256.Sum256([]byte(a.Token)), from: a.From}
	asked := r.asking.DoChan(string(q[:]), func() (any, error) {
		// Another request may have got a decision since.
		if known, err := r.known(q); known {
			return nil, err
		}
		// Other requests may wait for the result after this client has left.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTime)
		defer cancel()
		if err := r.budget.wait(ctx, who); err != nil {
			return nil, err
		}
		err := r.review(ctx, a)
		r.remember(q, err)
		return nil, err
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-asked:
		if result.Err == nil {
			r.budget.tokens.Add(who.token, nil, knownFor)
			r.budget.addresses.Add(who.from, nil, knownFor)
		}
		return result.Err
	}
}

// known returns the cached decision, which is nil if the request is allowed.
func (r *Reviewer) known(q reviewKey) (known bool, decision error) {
	if _, known = r.allowed.Get(q); known {
		return true, nil
	}
	refused, known := r.refused.Get(q)
	decision, _ = refused.(error)
	return known, decision
}

// remember caches a decision. Other errors are none.
func (r *Reviewer) remember(q reviewKey, err error) {
	if err == nil {
		r.allowed.Add(q, nil, allowedFor)
	} else if refused := new(inspect.Refused); errors.As(err, &refused) {
		r.refused.Add(q, err, refusedFor)
	}
}

// review asks the API server for the owner of the token and whether it is allowed.
func (r *Reviewer) review(ctx context.Context, a inspect.Attempt) error {
	spec := authenticationv1.TokenReviewSpec{Token: a.Token}
	approval := approvalAudience(a)
	if approval != "" {
		spec.Audiences = []string{approval}
	}
	reviewed, err := r.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		return lacking("tokenreviews.authentication.k8s.io", err)
	}
	// An API server without support for audiences returns none.
	if !reviewed.Status.Authenticated || approval != "" && !slices.Contains(reviewed.Status.Audiences, approval) {
		return &inspect.Refused{Reason: "the token is not valid, or no longer: ask for a new one, with kubectl create token"}
	}
	user := reviewed.Status.User
	if approval != "" && user.Username == r.ownName(ctx) {
		return nil
	}
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: Prefix + a.Path, Verb: a.Verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return lacking("subjectaccessreviews.authorization.k8s.io", err)
	}
	if !may.Status.Allowed {
		return &inspect.Refused{Reason: fmt.Sprintf("%s may not %s %s: bind it to a role with nonResourceURLs [%q] and verbs [%q]",
			sanitize.Quote(user.Username), a.Verb, sanitize.Quote(a.Path), Prefix+inspect.Root+"/*", a.Verb)}
	}
	return nil
}

// approvalAudience returns the audience for the attempted approval, if the token claims it;
// otherwise "". The API server verifies the claim.
func approvalAudience(a inspect.Attempt) string {
	hash, _, _ := strings.Cut(strings.TrimPrefix(a.Path, inspect.PlanPath+"/"), "/")
	if a.Verb != "post" || a.Path != inspect.ApprovePath(hash) || !inspect.ValidHash(hash) {
		return ""
	}
	audience := inspect.ApproveAudience(hash)
	if claims, isJWT := parse(a.Token); isJWT && claims.Audience.Contains(audience) {
		return audience
	}
	return ""
}

// ownName returns the user name of this process; "" if the API server doesn't return it.
func (r *Reviewer) ownName(ctx context.Context) string {
	self, err := r.client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil || !strings.HasPrefix(self.Status.UserInfo.Username, "system:serviceaccount:") {
		return "" // then a role decides
	}
	return self.Status.UserInfo.Username
}

// lacking says which right this process needs, if a review was forbidden.
func lacking(resource string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("this process may not create %s: bind its service account to the ClusterRole system:auth-delegator", resource)
	}
	return fmt.Errorf("create %s: %w", resource, err)
}

// errBusy is the error for a client that would wait too long.
var errBusy = errors.New("too many tokens are being checked: try again")
