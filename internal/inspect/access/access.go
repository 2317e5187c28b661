// Package access asks the API server what whoever has a token may do with the inspection API: whose
// token it is (TokenReview), and whether a role lets them use a path (SubjectAccessReview).
//
// Package process makes a [Reviewer] for a process that has a cluster, and gives it to
// internal/inspect. A role that lets somebody read everything has this rule:
//
//	nonResourceURLs: ["/signpost/api/v1alpha1/*"]
//	verbs: ["get"]
//
// The API server is asked about paths that begin with [Prefix]. Without it, everybody who is logged
// in could use all of them: the role system:discovery, which they have by default, allows /api/*.
//
// Answers are remembered for a short time and in a bounded number, and the API server is asked at a
// bounded rate, so that neither many requests nor many wrong tokens burden it. A token that was
// revoked is refused after [allowedFor] at the latest.
//
// # Concurrency
//
// Allow may be called from any goroutine. Requests about one token and path wait for one answer.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/internal/foreign"
	"github.com/signpostd/signpost/internal/inspect"
)

// Prefix is what paths of the inspection API begin with in roles.
const Prefix = "/signpost"

const (
	// allowedFor and refusedFor are how long an answer is remembered.
	allowedFor, refusedFor = 30 * time.Second, 10 * time.Second
	// maxAnswers is how many answers are remembered.
	maxAnswers = 256
	// maxToken is the most bytes of a token.
	maxToken = 12 << 10
	// reviewsPerSecond and reviewBurst are how often the API server is asked.
	reviewsPerSecond, reviewBurst = 10, 20
	// reviewTime is how long it may take to answer.
	reviewTime = 5 * time.Second
)

// Reviewer implements [inspect.Access]. Make it with [New].
type Reviewer struct {
	client kubernetes.Interface
	limit  *rate.Limiter
	asking singleflight.Group

	mu      sync.Mutex
	answers map[question]answer
}

// question is a hash of a token, a verb and a path.
type question [sha256.Size]byte

type answer struct {
	until time.Time
	// refused is nil if the request may be made.
	refused *inspect.Refused
}

// New returns a reviewer that asks the API server with this client.
func New(client kubernetes.Interface) *Reviewer {
	return &Reviewer{client: client, limit: rate.NewLimiter(reviewsPerSecond, reviewBurst), answers: map[question]answer{}}
}

// Allow implements [inspect.Access].
func (r *Reviewer) Allow(ctx context.Context, token, verb, path string) error {
	if len(token) > maxToken {
		return &inspect.Refused{Reason: fmt.Sprintf("the token has %d bytes: it may have %d", len(token), maxToken)}
	}
	q := question(sha256.Sum256([]byte(verb + " " + path + "\n" + token)))
	if a, ok := r.known(q); ok {
		return a.err()
	}
	if err := r.limit.Wait(ctx); err != nil {
		return errors.New("too many tokens are being checked: try again")
	}
	asked := r.asking.DoChan(string(q[:]), func() (any, error) {
		// Others may wait for the answer when this client has left.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTime)
		defer cancel()
		a, err := r.review(ctx, token, verb, path)
		if err == nil {
			r.remember(q, a)
		}
		return a, err
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-asked:
		if result.Err != nil {
			return result.Err
		}
		return result.Val.(answer).err()
	}
}

func (a answer) err() error {
	if a.refused == nil {
		return nil
	}
	return a.refused
}

func (r *Reviewer) known(q question) (answer, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, ok := r.answers[q]
	return a, ok && time.Now().Before(a.until)
}

// remember keeps an answer, and forgets those that are out of date, and any one if there are too
// many.
func (r *Reviewer) remember(q question, a answer) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.answers) >= maxAnswers {
		now := time.Now()
		for other, old := range r.answers {
			if now.After(old.until) {
				delete(r.answers, other)
			}
		}
	}
	for other := range r.answers {
		if len(r.answers) < maxAnswers {
			break
		}
		delete(r.answers, other)
	}
	r.answers[q] = a
}

// review asks the API server whose token it is, and what its owner may do.
func (r *Reviewer) review(ctx context.Context, token, verb, path string) (answer, error) {
	who, err := r.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return answer{}, lacking("tokenreviews.authentication.k8s.io", err)
	}
	if !who.Status.Authenticated {
		return refused("the token is not valid, or no longer: ask for a new one, with kubectl create token"), nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for k, v := range user.Extra {
		extra[k] = authorizationv1.ExtraValue(v)
	}
	may, err := r.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: Prefix + path, Verb: verb},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return answer{}, lacking("subjectaccessreviews.authorization.k8s.io", err)
	}
	if !may.Status.Allowed {
		return refused(fmt.Sprintf("%s may not %s %s: bind it to a role with nonResourceURLs [%q] and verbs [%q]",
			foreign.Quote(user.Username), verb, foreign.Quote(path), Prefix+inspect.Root+"/*", verb)), nil
	}
	return answer{until: time.Now().Add(allowedFor)}, nil
}

func refused(reason string) answer {
	return answer{until: time.Now().Add(refusedFor), refused: &inspect.Refused{Reason: reason}}
}

// lacking says which right this process needs if it was refused for the lack of it.
func lacking(resource string, err error) error {
	if apierrors.IsForbidden(err) {
		return fmt.Errorf("this process may not create %s: bind its service account to the ClusterRole system:auth-delegator", resource)
	}
	return fmt.Errorf("create %s: %w", resource, err)
}
