package slices_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	discoveryclient "k8s.io/client-go/kubernetes/typed/discovery/v1"

	"github.com/signpostd/signpost/controllers/reconcile"
)

// requests is the client of a fixture. The functions replace a response; those that are nil replace nothing.
type requests struct {
	discoveryclient.EndpointSliceInterface
	updated, got, deleted func() error
	// listed is called after the API server has listed the slices.
	listed func()
}

func (r *requests) EndpointSlices(string) discoveryclient.EndpointSliceInterface { return r }

// Update implements discoveryclient.EndpointSliceInterface.
func (r *requests) Update(ctx context.Context, e *discoveryv1.EndpointSlice, o metav1.UpdateOptions) (*discoveryv1.EndpointSlice, error) {
	if r.updated != nil {
		return nil, r.updated()
	}
	return r.EndpointSliceInterface.Update(ctx, e, o)
}

// Get implements discoveryclient.EndpointSliceInterface.
func (r *requests) Get(ctx context.Context, name string, o metav1.GetOptions) (*discoveryv1.EndpointSlice, error) {
	if r.got != nil {
		return nil, r.got()
	}
	return r.EndpointSliceInterface.Get(ctx, name, o)
}

// Delete implements discoveryclient.EndpointSliceInterface.
func (r *requests) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	if r.deleted != nil {
		return r.deleted()
	}
	return r.EndpointSliceInterface.Delete(ctx, name, o)
}

// List implements discoveryclient.EndpointSliceInterface.
func (r *requests) List(ctx context.Context, o metav1.ListOptions) (*discoveryv1.EndpointSliceList, error) {
	list, err := r.EndpointSliceInterface.List(ctx, o)
	if r.listed != nil {
		r.listed()
	}
	return list, err
}

// loseUpdate makes an update of a slice whose response is lost.
func (s *fixture) loseUpdate(e *discoveryv1.EndpointSlice) {
	s.Helper()
	s.requests.updated = func() error { return errors.New("connection lost") }
	if _, err := s.Update(s.Context(), s.service, e); err == nil || reconcile.IsConflict(err) {
		s.Fatalf("the update ended with %v, want a lost connection", err)
	}
}

// recreate replaces a slice as another writer, and returns when the table has the new one.
func (s *fixture) recreate(name string) {
	s.Helper()
	s.remove(name)
	e := s.createExternally(named(name))
	s.eventually(func() error {
		if known := s.table.Get(s.ns, name); known == nil || known.GetUID() != e.UID {
			return fmt.Errorf("the table doesn't have the new %s", name)
		}
		return nil
	})
}

// A 404 that is not about the slice, such as one of a proxy in front of the API server, hides no slice. A
// hidden slice stayed hidden, and its endpoints were written a second time.
func TestNotFoundOfTheResource(t *testing.T) {
	s := newFixture(t)
	e := s.create()
	noResource := func() error {
		return apierrors.NewGenericServerResponse(http.StatusNotFound, "get", discoveryv1.Resource("endpointslices"), e.Name, "404 page not found", 0, true)
	}
	s.loseUpdate(e)
	s.requests.got, s.requests.deleted = noResource, noResource
	if err := s.Settle(t.Context(), s.service); err == nil {
		t.Error("the slice was read although the API server doesn't serve slices")
	}
	if err := s.Delete(t.Context(), s.service, e); err == nil {
		t.Error("the slice was deleted although the API server doesn't serve slices")
	}
	s.want(e.Name)
}

// A slice that is recreated under its name after the API server has reported that it is missing stays in the
// store.
func TestSettleAndRecreatedSlice(t *testing.T) {
	s := newFixture(t)
	s.follow()
	e := s.createExternally(named("web-1"))
	s.loseUpdate(e)
	s.requests.got = func() error {
		s.recreate(e.Name)
		return apierrors.NewNotFound(discoveryv1.Resource("endpointslices"), e.Name)
	}
	s.must(s.Settle(t.Context(), s.service))
	s.want(e.Name)
}

// A slice that is created after the API server has listed the slices stays in the store.
func TestRefreshAndNewSlice(t *testing.T) {
	s := newFixture(t)
	s.follow()
	e := s.createExternally(named("web-1"))
	s.requests.listed = func() { s.recreate(e.Name) }
	s.must(s.Refresh(t.Context(), s.service))
	s.want(e.Name)
}
