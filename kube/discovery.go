package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// discoveryRequest bounds a request for what the API server serves, and mostVersions how many versions of a group are asked for.
	discoveryRequest = 5 * time.Second
	mostVersions     = 10
	// terminatingEvery is how often the API server is asked at most whether the definition of a kind is being removed.
	terminatingEvery = 500 * time.Millisecond
)

// unreadable is why a kind can't be read although the cluster has it.
type unreadable struct {
	reason Reason
	text   string
}

// Error implements error.
func (u *unreadable) Error() string { return u.text }

// explained returns the error of an attempt to read the part. If the API server doesn't have the kind in the version that is read, but
// in another one, that is the error: the kind isn't missing then, and its objects exist.
func (p *part) explained(ctx context.Context, err error) error {
	if reasonOf(err) != NotFound || p.feed.resource.Group == "" {
		return err
	}
	others, cause := p.source.otherVersions(ctx)
	status := apierrors.APIStatus(nil)
	switch {
	case errors.As(cause, &status): // it may not be asked
		return err
	case cause != nil:
		return fmt.Errorf("ask whether the cluster has %s in another version: %w", p.feed.resource.GroupResource(), cause)
	case len(others) == 0:
		return err
	}
	return &unreadable{OtherVersion, fmt.Sprintf("the cluster serves %s in %s, and not in %s, which is read: serve %s too, or run a Signpost that reads what is served",
		p.feed.resource.GroupResource(), strings.Join(others, ", "), p.feed.resource.Version, p.feed.resource.Version)}
}

// otherVersions returns the other versions of the group in which the API server serves the resource.
func (s *source) otherVersions(ctx context.Context) (others []string, err error) {
	var group metav1.APIGroup
	if err := s.discover(ctx, &group, "apis", s.resource.Group); err != nil {
		return nil, err
	}
	for i, v := range group.Versions {
		if v.Version == s.resource.Version || i == mostVersions {
			continue
		}
		verbs, err := s.verbs(ctx, v.Version)
		if err != nil {
			return nil, err
		}
		if verbs != nil {
			others = append(others, v.Version)
		}
	}
	return others, nil
}

// terminating reports whether the definition of the kind is being removed. Until that is over, which may take for ever because of
// a finalizer of one object, the API server deletes the objects and serves the kind without the verbs that make or change one.
func (s *source) terminating(ctx context.Context) (bool, error) {
	verbs, err := s.verbs(ctx, s.resource.Version)
	return slices.Contains(verbs, "deletecollection") && !slices.Contains(verbs, "create") && !slices.Contains(verbs, "update"), err
}

// verbs returns what can be done with objects of the resource in a version of its group; nil if it isn't served in this version.
func (s *source) verbs(ctx context.Context, version string) (metav1.Verbs, error) {
	var list metav1.APIResourceList
	if err := s.discover(ctx, &list, "apis", s.resource.Group, version); err != nil {
		return nil, err
	}
	for _, r := range list.APIResources {
		if r.Name == s.resource.Resource {
			return append(metav1.Verbs{}, r.Verbs...), nil
		}
	}
	return nil, nil
}

// discover reads a document of the API server's discovery into a value, which stays as it is if there is no such document.
func (s *source) discover(ctx context.Context, into any, path ...string) error {
	ctx, cancel := context.WithTimeout(ctx, discoveryRequest)
	defer cancel()
	body, err := s.client.Get().AbsPath(path...).SetHeader("Accept", jsonType).MaxRetries(0).Do(ctx).Raw()
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return s.classify(err)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read what the API server serves: %w", err)
	}
	return nil
}

// removable reports whether the definition of the kind may be removed while objects of it are read.
func (p *part) removable() bool { return p.feed.optional && p.feed.resource.Group != "" }

// suspect asks for a look at whether the definition of the kind is being removed. It doesn't block.
func (p *part) suspect() {
	select {
	case p.suspected <- struct{}{}:
	default:
	}
}

// followDefinition looks whether the definition of the kind is being removed, whenever that is suspected, until ctx ends.
func (p *part) followDefinition(ctx context.Context) {
	for {
		var again <-chan time.Time
		if p.state.isTerminating() {
			again = time.After(retryLimitMissing)
		}
		select {
		case <-ctx.Done():
			return
		case <-p.suspected:
		case <-again:
		}
		if p.lookAtDefinition(ctx) != nil {
			p.suspect()
		}
		pause(ctx, terminatingEvery)
	}
}

// lookAtDefinition notes whether the definition of the kind is being removed. If the API server may not be asked, it isn't.
func (p *part) lookAtDefinition(ctx context.Context) error {
	terminating, err := p.source.terminating(ctx)
	status := apierrors.APIStatus(nil)
	if err != nil && !errors.As(err, &status) {
		return err
	}
	p.state.terminates(terminating)
	return nil
}
