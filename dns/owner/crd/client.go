package crd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
)

// client reads and writes the DNSRecords of a namespace.
type client struct {
	*gentype.ClientWithList[*externaldns.DNSRecord, *externaldns.DNSRecordList]
}

// newClient returns a client that uses httpClient. If that is nil, it opens connections
// according to config.
func newClient(config *rest.Config, httpClient *http.Client, namespace string) (client, error) {
	scheme := runtime.NewScheme()
	if err := externaldns.AddToScheme(scheme); err != nil {
		return client{}, err
	}
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &externaldns.SchemeGroupVersion, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(c); err != nil {
			return client{}, err
		}
	}
	restClient, err := rest.RESTClientForConfigAndClient(c, httpClient)
	if err != nil {
		return client{}, err
	}
	return client{gentype.NewClientWithList("dnsrecords", restClient, runtime.NewParameterCodec(scheme), namespace,
		func() *externaldns.DNSRecord { return &externaldns.DNSRecord{} },
		func() *externaldns.DNSRecordList { return &externaldns.DNSRecordList{} })}, nil
}

// pageSize is the number of objects in one answer.
const pageSize = 500

// list calls f with each object of the owners.
func (c client) list(ctx context.Context, owners []string, f func(*externaldns.DNSRecord)) error {
	requirement, err := labels.NewRequirement(externaldns.LabelOwner, selection.In, owners)
	if err != nil {
		return err
	}
	options := metav1.ListOptions{LabelSelector: labels.NewSelector().Add(*requirement).String(), Limit: pageSize}
	for {
		page, err := c.List(ctx, options)
		if apierrors.IsNotFound(err) {
			return fmt.Errorf("the cluster has no kind DNSRecord: apply deploy/crds/externaldns.k8s.io_dnsrecords.yaml: %w", err)
		}
		if err != nil {
			return err
		}
		for i := range page.Items {
			f(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}

// errForeign means that the object exists and belongs to somebody else.
var errForeign = errors.New("the object belongs to another owner")

// attempts is how often a write is tried when others write at the same time.
const attempts = 5

// put creates or updates an object so that it has the spec and the owner of want, and returns
// it as it is now. Known says whether the object is expected to exist. For an object of an
// owner that isn't in mine, the error is errForeign.
func (c client) put(ctx context.Context, want *externaldns.DNSRecord, known existence, mine []string) (*externaldns.DNSRecord, error) {
	var made *externaldns.DNSRecord
	var err error
	for range attempts {
		if known == absent {
			if made, err = c.Create(ctx, want, metav1.CreateOptions{}); err == nil || !apierrors.IsAlreadyExists(err) {
				return made, err
			}
			known = present
		}
		made, err = c.overwrite(ctx, want, mine)
		switch {
		case apierrors.IsNotFound(err):
			known = absent
		case !apierrors.IsConflict(err):
			return made, err
		}
	}
	return nil, err
}

// existence says whether an object is expected to exist.
type existence int

const (
	absent existence = iota
	present
)

func (c client) overwrite(ctx context.Context, want *externaldns.DNSRecord, mine []string) (*externaldns.DNSRecord, error) {
	live, err := c.Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if !slices.Contains(mine, live.Labels[externaldns.LabelOwner]) {
		return nil, errForeign
	}
	if live.Labels[externaldns.LabelOwner] == want.Labels[externaldns.LabelOwner] && equality.Semantic.DeepEqual(live.Spec.Endpoint, want.Spec.Endpoint) {
		return live, nil
	}
	live.Labels[externaldns.LabelOwner] = want.Labels[externaldns.LabelOwner]
	live.Spec = want.Spec
	return c.Update(ctx, live, metav1.UpdateOptions{})
}

// setStatus writes the status that set puts into an object. If the object is out of date, it
// is read again first.
func (c client) setStatus(ctx context.Context, object *externaldns.DNSRecord, set func(*externaldns.DNSRecord)) (*externaldns.DNSRecord, error) {
	var err error
	for range attempts {
		set(object)
		var made *externaldns.DNSRecord
		if made, err = c.UpdateStatus(ctx, object, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
			return made, err
		}
		if object, err = c.Get(ctx, object.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// remove deletes an object if it still has the UID. It is no error if the object is gone.
func (c client) remove(ctx context.Context, name, uid string) error {
	options := metav1.DeleteOptions{}
	if uid != "" {
		u := types.UID(uid)
		options.Preconditions = &metav1.Preconditions{UID: &u}
	}
	err := c.Delete(ctx, name, options)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}
