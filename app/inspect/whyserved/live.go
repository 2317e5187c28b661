package whyserved

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"

	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// maxPods, maxSlices, maxServices and maxPolicies limit the objects that are read.
	maxPods, maxSlices, maxServices, maxPolicies = 200, 100, 300, 100
	// maxResponse limits a response in bytes, because tenants decide about the size of objects.
	maxResponse = 16 << 20
)

// Bounded returns a transport that fails responses that are too large. The client of an [Explainer]
// must use it.
func Bounded(next http.RoundTripper) http.RoundTripper { return boundedTransport{next} }

type boundedTransport struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxResponse)
	}
	return response, err
}

// WrappedRoundTripper gives access to the connections.
func (b boundedTransport) WrappedRoundTripper() http.RoundTripper { return b.next }

// live reads objects of one namespace.
type live struct {
	client    kubernetes.Interface
	namespace string
}

// service returns a Service; nil if it doesn't exist.
func (l live) service(ctx context.Context, name string) (*corev1.Service, error) {
	list, err := l.client.CoreV1().Services(l.namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return nil, l.wrap("services", err)
	}
	return &list.Items[0], nil
}

func (l live) services(ctx context.Context) ([]corev1.Service, error) {
	list, err := l.client.CoreV1().Services(l.namespace).List(ctx, metav1.ListOptions{Limit: maxServices})
	if err != nil {
		return nil, l.wrap("services", err)
	}
	return list.Items, nil
}

// suggestions returns the Services of the namespace, and the namespaces that have a Service of a name, as far
// as they can be listed.
func (l live) suggestions(ctx context.Context, name string) (names, namespaces []string) {
	all, _ := l.services(ctx)
	for i := range all {
		names = append(names, all[i].Name)
	}
	list, err := l.client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: maxHolders})
	if err != nil {
		return names, nil
	}
	for i := range list.Items {
		namespaces = append(namespaces, list.Items[i].Namespace)
	}
	return names, namespaces
}

// pods returns pods that a selector selects, up to a limit; nil selects all.
func (l live) pods(ctx context.Context, selector map[string]string) (podList, error) {
	list, err := l.client.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.SelectorFromSet(selector).String(), Limit: maxPods})
	if err != nil {
		return podList{}, l.wrap("pods", err)
	}
	return podList{list.Items, list.Continue != ""}, nil
}

// podList is a list of pods, cut at a limit.
type podList struct {
	pods []corev1.Pod
	more bool
}

// count returns the number of pods, such as "3" or "more than 200".
func (s podList) count() string {
	if s.more {
		return fmt.Sprintf("more than %d", len(s.pods))
	}
	return fmt.Sprint(len(s.pods))
}

// title describes the pods that were read, such as "3 pods" or "the first 200 of more than 200
// pods".
func (s podList) title() string {
	if s.more {
		return fmt.Sprintf("the first %d of more than %[1]d pods", len(s.pods))
	}
	return podCount(s)
}

func (l live) pod(ctx context.Context, name string) (*corev1.Pod, error) {
	list, err := l.client.CoreV1().Pods(l.namespace).List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name, Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return nil, l.wrap("pods", err)
	}
	return &list.Items[0], nil
}

func (l live) slices(ctx context.Context, service string) ([]discoveryv1.EndpointSlice, error) {
	list, err := l.client.DiscoveryV1().EndpointSlices(l.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + service, Limit: maxSlices,
	})
	if err != nil {
		return nil, l.wrap("endpointslices.discovery.k8s.io", err)
	}
	return list.Items, nil
}

func (l live) policies(ctx context.Context) ([]networkingv1.NetworkPolicy, error) {
	list, err := l.client.NetworkingV1().NetworkPolicies(l.namespace).List(ctx, metav1.ListOptions{Limit: maxPolicies})
	if err != nil {
		return nil, l.wrap("networkpolicies.networking.k8s.io", err)
	}
	return list.Items, nil
}

// wrap returns the error of a list, with the missing right if there is one.
func (l live) wrap(resource string, err error) error {
	switch large := new(http.MaxBytesError); {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return fmt.Errorf("%s of the namespace %s could not be listed now: the objects are too large to be read together", resource, l.namespace)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("this process may not list %s in the namespace %s: give its role that right", resource, l.namespace)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server doesn't accept the credentials of this process, so %s could not be listed", resource)
	default:
		return fmt.Errorf("%s of the namespace %s could not be listed now: %s", resource, l.namespace, short(err.Error()))
	}
}

// short returns untrusted text as part of a line.
func short(text string) string {
	const most = 300
	return strings.Join(strings.Fields(sanitize.Line(text, most)), " ")
}
