package kube

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
)

// Denied asks the API server which rights the credentials lack, of those that the required
// tables need. It returns them in words, such as "list pods". It is for explaining a failure:
// the tables don't depend on it.
func (c *Cluster) Denied(ctx context.Context) ([]string, error) {
	client, err := authorizationclient.NewForConfigAndClient(c.config, c.client)
	if err != nil {
		return nil, fmt.Errorf("make client for access reviews: %w", err)
	}
	var denied []string
	for _, f := range c.feeds {
		if f.optional {
			continue
		}
		for _, verb := range []string{"list", "watch"} {
			review, err := client.SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{
				Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: verb, Group: f.resource.Group, Version: f.resource.Version, Resource: f.resource.Resource, Namespace: c.namespaceOf(f),
				}},
			}, metav1.CreateOptions{})
			if err != nil {
				return nil, fmt.Errorf("review access to %s: %w", f.resource.GroupResource(), err)
			}
			if !review.Status.Allowed {
				denied = append(denied, verb+" "+f.resource.GroupResource().String())
			}
		}
	}
	return denied, nil
}

// namespaceOf returns the namespace that a feed reads; empty is all.
func (c *Cluster) namespaceOf(f *feed) string {
	if f.clusterWide {
		return ""
	}
	return c.namespace
}
