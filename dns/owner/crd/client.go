package crd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

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
	"github.com/signpostd/signpost/dns/owner/claims"
)

// client reads and writes the DNSRecords of a namespace.
type client struct {
	*gentype.ClientWithList[*externaldns.DNSRecord, *externaldns.DNSRecordList]
}

// newClient returns a client that uses httpClient. If that is nil, it opens connections according
// to config.
func newClient(config *rest.Config, httpClient *http.Client, namespace string) (client, error) {
	scheme := runtime.NewScheme()
	if err := externaldns.AddToScheme(scheme); err != nil {
		return client{}, err
	}
	c := rest.CopyConfig(config)
	c.GroupVersion, c.APIPath = &externaldns.SchemeGroupVersion, "/apis"
	c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.ContentType, c.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	// Each change needs three to five requests. The store limits the parallel ones.
	c.QPS, c.RateLimiter = -1, nil
	if httpClient == nil {
		var err error
		if httpClient, err = rest.HTTPClientFor(c); err != nil {
			return client{}, err
		}
		// A redirected write would become a GET, and seem to succeed.
		httpClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	restClient, err := rest.RESTClientForConfigAndClient(c, httpClient)
	if err != nil {
		return client{}, err
	}
	return client{gentype.NewClientWithList("dnsrecords", restClient, runtime.NewParameterCodec(scheme), namespace,
		func() *externaldns.DNSRecord { return &externaldns.DNSRecord{} },
		func() *externaldns.DNSRecordList { return &externaldns.DNSRecordList{} })}, nil
}

// pageSize is the number of objects in one response.
const pageSize = 500

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

// attempts limits the tries of a write after conflicts.
const attempts = 5

// put is a write of an object.
type put struct {
	// was is the claim of the object when it was last read or written; nil if there was none. live is
	// the object itself, if known.
	was  *claims.Claim
	live *externaldns.DNSRecord
	// claim is the claim to write. owners are those whose objects may be written.
	claim  *claims.Claim
	owners []string
}

// errOtherRecord is the error for a claim whose object name is that of another record set. The hash in the
// names has four bytes.
var errOtherRecord = errors.New("the DNSRecord is of another record: use another name or set identifier")

// put creates or updates an object, and returns the result. For an object of another owner the
// error wraps [claims.ErrTaken].
func (c client) put(ctx context.Context, p put) (*externaldns.DNSRecord, error) {
	name, exists := objectName(claims.Write{Was: p.was, Claim: p.claim}), p.was != nil
	var made *externaldns.DNSRecord
	var err error
	for range attempts {
		if !exists {
			object := &externaldns.DNSRecord{ObjectMeta: metav1.ObjectMeta{Name: name}}
			fill(object, p.claim)
			if made, err = c.Create(ctx, object, metav1.CreateOptions{}); err == nil || !apierrors.IsAlreadyExists(err) {
				return made, err
			}
			exists = true
		}
		made, err = c.overwrite(ctx, name, p)
		p.live = nil
		switch {
		case apierrors.IsNotFound(err):
			exists = false
		case !apierrors.IsConflict(err):
			return made, err
		}
	}
	return nil, err
}

func (c client) overwrite(ctx context.Context, name string, p put) (*externaldns.DNSRecord, error) {
	live := p.live
	if live == nil {
		var err error
		if live, err = c.Get(ctx, name, metav1.GetOptions{}); err != nil {
			return nil, fmt.Errorf("%w: %w", errRead, err)
		}
	}
	if !slices.Contains(p.owners, live.Labels[externaldns.LabelOwner]) {
		return nil, fmt.Errorf("%w (DNSRecord %s): use another name, or delete the object", claims.ErrTaken, name)
	}
	if key := claimOf(live).Key; key != p.claim.Key && key.Name != "" {
		return nil, fmt.Errorf("%w (it has %s %s)", errOtherRecord, key.Type, key.Name)
	}
	changed := live.DeepCopy()
	if !fill(changed, p.claim) {
		return live, nil
	}
	return c.Update(ctx, changed, metav1.UpdateOptions{})
}

// setStatus writes the status that set puts into an object, if set reports a change. After a
// conflict the object is read again.
func (c client) setStatus(ctx context.Context, object *externaldns.DNSRecord, set func(*externaldns.DNSRecord) bool) (*externaldns.DNSRecord, error) {
	var err error
	for range attempts {
		changed := object.DeepCopy()
		if !set(changed) {
			return object, nil
		}
		var made *externaldns.DNSRecord
		if made, err = c.UpdateStatus(ctx, changed, metav1.UpdateOptions{}); err == nil || !apierrors.IsConflict(err) {
			return made, err
		}
		if object, err = c.Get(ctx, object.Name, metav1.GetOptions{}); err != nil {
			return nil, err
		}
	}
	return nil, err
}

// remove deletes an object if it still has the UID. A missing object is no error.
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
