package check

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/signpostd/signpost/app/rbac"
	"github.com/signpostd/signpost/app/settings"
)

// reviewsAtOnce limits parallel access reviews.
const reviewsAtOnce = 8

// needed returns the rights that the roles need.
func (a checker) needed() []rbac.Needed { return rbac.All(a.Config, a.Account) }

// roleRule is a rule with its role, which has the namespace.
type roleRule struct {
	role rbac.Role
	rule rbac.Rule
}

// rightsOf returns a check of the given rights.
func (a checker) rightsOf(needed rbac.Needed) func(context.Context) []Result {
	var rules []roleRule
	verbs := 0
	for _, role := range needed.Roles {
		for _, rule := range role.Rules {
			rules = append(rules, roleRule{role, rule})
			verbs += len(rule.Verbs)
		}
	}
	return func(ctx context.Context) []Result {
		lists := make([][]Result, len(rules))
		reviews, ctx := errgroup.WithContext(ctx)
		reviews.SetLimit(reviewsAtOnce)
		for i, p := range rules {
			reviews.Go(func() error {
				lacking, err := a.missingVerbs(ctx, p)
				if len(lacking) > 0 {
					lists[i] = []Result{a.denied(needed.Section, p, lacking)}
				}
				return err
			})
		}
		if err := reviews.Wait(); err != nil {
			return []Result{reviewFailure(err)}
		}
		if results := slices.Concat(lists...); len(results) > 0 {
			return results
		}
		return []Result{{State: OK, Text: fmt.Sprintf("%s has all %d rights that it needs", a.As, verbs)}}
	}
}

// missingVerbs returns the verbs of a rule that are not allowed.
func (a checker) missingVerbs(ctx context.Context, p roleRule) ([]string, error) {
	var verbs []string
	for _, verb := range p.rule.Verbs {
		for _, spec := range p.reviews(verb) {
			review, err := a.rights.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{Spec: spec}, metav1.CreateOptions{})
			if err != nil {
				return nil, err
			}
			if !review.Status.Allowed {
				verbs = append(verbs, verb)
				break
			}
		}
	}
	return verbs, nil
}

// reviews returns the access reviews for a verb of the rule: one for its resource or each path.
func (p roleRule) reviews(verb string) []authorizationv1.SelfSubjectAccessReviewSpec {
	var specs []authorizationv1.SelfSubjectAccessReviewSpec
	for _, path := range p.rule.Paths {
		specs = append(specs, authorizationv1.SelfSubjectAccessReviewSpec{NonResourceAttributes: &authorizationv1.NonResourceAttributes{Path: path, Verb: verb}})
	}
	if len(specs) > 0 {
		return specs
	}
	resource, subresource, _ := strings.Cut(p.rule.Resource, "/")
	return []authorizationv1.SelfSubjectAccessReviewSpec{{ResourceAttributes: &authorizationv1.ResourceAttributes{
		Verb: verb, Group: p.rule.Group, Resource: resource, Subresource: subresource, Name: p.rule.Object, Namespace: p.role.Namespace,
	}}}
}

// denied describes denied verbs of a rule, and the consequence.
func (a checker) denied(section string, p roleRule, verbs []string) Result {
	what := schema.GroupResource{Group: p.rule.Group, Resource: p.rule.Resource}.String()
	if p.rule.Object != "" {
		what += " " + p.rule.Object
	}
	where := "in all namespaces"
	switch {
	case len(p.rule.Paths) > 0:
		what, where = strings.Join(p.rule.Paths, " and "), "of the API server"
	case p.role.Namespace != "":
		where = "in the namespace " + p.role.Namespace
	}
	result := Result{State: Failed, Text: fmt.Sprintf("%s may not %s %s %s", a.As, strings.Join(verbs, ", "), what, where)}
	if p.rule.Without != "" {
		result.State = Warning
		result.Text += ": " + p.rule.Without
	}
	result.Hint = fmt.Sprintf("apply deploy/rbac/%s.yaml, and bind its role %s as its comment says", section, p.role.Name)
	if section == settings.DNSSection {
		// That file is for the default names of objects.
		result.Hint = fmt.Sprintf("apply what signpost rbac prints for the same flags or the same config file, with --service-account=%s/%s", a.Account.Namespace, a.Account.Name)
	}
	return result
}

// reviewFailure returns the result of a failed access review.
func reviewFailure(err error) Result {
	result := Result{State: Unknown, Text: "the API server doesn't say what is allowed: " + reason(err)}
	if apierrors.IsForbidden(err) {
		result.Hint = "to ask for the rights of somebody else with --as, you need the right to impersonate them"
	}
	return result
}
