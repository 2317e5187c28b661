package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Denied returns the rights that the required tables need and the credentials lack, such as "list pods" or
// "list pods in the namespace shop". It asks the API server with SelfSubjectAccessReviews, to explain a
// failure; filling the tables does not depend on it.
func (c *Cluster) Denied(ctx context.Context) ([]string, error) {
	if c.untrusted != nil {
		ctx = withoutLog(ctx)
	}
	client, err := authorizationclient.NewForConfigAndClient(c.config, c.client)
	if err != nil {
		return nil, fmt.Errorf("make client for access reviews: %w", err)
	}
	var denied []string
	for _, f := range c.feeds {
		if f.optional {
			continue
		}
		for _, p := range f.parts {
			of, err := p.denied(ctx, client)
			if err != nil {
				return nil, err
			}
			denied = append(denied, of...)
		}
	}
	return denied, nil
}

// denied returns the missing rights of one part.
func (p *part) denied(ctx context.Context, client authorizationclient.AuthorizationV1Interface) ([]string, error) {
	r := p.feed.resource
	var denied []string
	for _, verb := range []string{"list", "watch"} {
		review, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
			Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: r.Group, Version: r.Version, Resource: r.Resource, Namespace: p.namespace,
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			return nil, fmt.Errorf("review access to %s: %w", r.GroupResource(), err)
		}
		if review.Status.Allowed {
			continue
		}
		right := verb + " " + r.GroupResource().String()
		if p.namespace != "" {
			right += " in the namespace " + p.namespace
		}
		denied = append(denied, right)
	}
	return denied, nil
}
