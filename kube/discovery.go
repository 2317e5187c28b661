package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/signpostd/signpost/internal/pause"
)

const (
	// discoveryRequest bounds one discovery request. mostVersions bounds the versions of a group that are
	// queried.
	discoveryRequest = 5 * time.Second
	mostVersions     = 10
	// terminatingEvery is the shortest interval between checks whether the CRD of a kind is being removed.
	terminatingEvery = 500 * time.Millisecond
)

// unreadable is the reason why a kind that exists can't be read.
type unreadable struct {
	reason Reason
	text   string
}

// Error implements error.
func (u *unreadable) Error() string { return u.text }

// explained replaces the error of a list or watch if the API server serves the kind in another
// version only. The kind isn't missing then, and its objects exist. If API discovery fails or is
// forbidden, the kind may exist too: callers delete what a missing kind's objects asked for, so a
// refusal doesn't prove that it is missing.
func (p *part) explained(ctx context.Context, err error) error {
	if reasonOf(err) != NotFound || p.feed.resource.Group == "" {
		return err
	}
	others, cause := p.source.otherVersions(ctx)
	switch {
	case cause != nil && reasonOf(cause) == Forbidden:
		return &unreadable{DiscoveryForbidden, fmt.Sprintf("the API server doesn't serve %[1]s in %[2]s, and forbids the discovery of other versions: grant get on /apis/%[3]s and /apis/%[3]s/*, as the ClusterRole system:discovery does: %[4]v",
			p.feed.resource.GroupResource(), p.feed.resource.Version, p.feed.resource.Group, cause)}
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
		if i >= mostVersions {
			break
		}
		if v.Version == s.resource.Version || len(validation.IsDNS1035Label(v.Version)) > 0 {
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

// terminating reports whether the CRD of the kind is being removed. Meanwhile, which may be for ever because
// of a finalizer of one object, the API server deletes the objects and serves the kind without the verbs
// create and update.
func (s *source) terminating(ctx context.Context) (bool, error) {
	verbs, err := s.verbs(ctx, s.resource.Version)
	return slices.Contains(verbs, "deletecollection") && !slices.Contains(verbs, "create") && !slices.Contains(verbs, "update"), err
}

// verbs returns the verbs that the API server serves for the resource in a version of its group; nil if it
// doesn't serve that version.
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

// discover decodes a discovery document into a value. If the document doesn't exist, the value stays
// unchanged.
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

// removable reports whether the CRD of the kind may be removed while its objects are watched.
func (p *part) removable() bool { return p.feed.optional && p.feed.resource.Group != "" }

// suspect requests a check whether the CRD of the kind is being removed. It doesn't block.
func (p *part) suspect() {
	select {
	case p.suspected <- struct{}{}:
	default:
	}
}

// followDefinition checks, on each suspicion until ctx ends, whether the CRD of the kind is being
// removed. A check that fails is repeated.
func (p *part) followDefinition(ctx context.Context) {
	var delay retry
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
		if p.checkDefinition(ctx) != nil {
			p.suspect()
			_ = pause.For(ctx, delay.next(retryLimitMissing))
			continue
		}
		delay = retry{}
		_ = pause.For(ctx, terminatingEvery)
	}
}

// checkDefinition records whether the CRD of the kind is being removed. A request that fails or is
// forbidden says nothing: what was known stays, and the caller repeats the check, because a refusal
// may pass.
func (p *part) checkDefinition(ctx context.Context) error {
	terminating, err := p.source.terminating(ctx)
	if err != nil {
		return err
	}
	p.state.setTerminating(terminating)
	return nil
}
