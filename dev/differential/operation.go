package main

//lint:file-ignore SA1019 Endpoints are deprecated, and one of the kinds that are compared.

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// operation is something that a user, or the kubelet, does. Operations are values that are never
// changed, so that a sequence can be played again. What an operation does depends on what exists,
// which is the same in both clusters.
type operation interface {
	// String says what it does, for the history.
	String() string
	// do does it in one cluster. An error is the API server's refusal.
	do(ctx context.Context, c kubernetes.Interface, namespace string) error
	// concerns reports whether it may change what is written for a Service.
	concerns(service string) bool
}

// errSkipped is the outcome of an operation that has nothing to do.
var errSkipped = errors.New("there was nothing to do")

// onService is the part that operations have in common that are about one Service.
type onService struct{ Service string }

func (o onService) concerns(service string) bool { return service == o.Service }

// onPod is the part that operations have in common that are about a pod, which any Service may select.
type onPod struct{ Pod string }

func (onPod) concerns(string) bool { return true }

// putService creates a Service, or changes the one that exists.
type putService struct {
	onService
	wanted *corev1.Service
	// refamily lets a Service that exists change between one and two families of addresses.
	refamily bool
	// external makes a Service that exists an ExternalName.
	external bool
}

func (o putService) String() string {
	return fmt.Sprintf("put service %s spec=%s labels=%s annotations=%s refamily=%t external=%t",
		o.Service, canonical(o.wanted.Spec), canonical(o.wanted.Labels), canonical(o.wanted.Annotations), o.refamily, o.external)
}

func (o putService) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return untilNoConflict(ctx, func() error {
		live, err := c.CoreV1().Services(namespace).Get(ctx, o.Service, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = c.CoreV1().Services(namespace).Create(ctx, o.wanted.DeepCopy(), metav1.CreateOptions{})
			return err
		}
		if err != nil {
			return err
		}
		_, err = c.CoreV1().Services(namespace).Update(ctx, o.changed(live), metav1.UpdateOptions{})
		return err
	})
}

// changed returns the Service that exists, with what is wanted.
func (o putService) changed(live *corev1.Service) *corev1.Service {
	live = live.DeepCopy()
	wanted := o.wanted.DeepCopy()
	live.Labels, live.Annotations = wanted.Labels, wanted.Annotations
	live.Spec.Selector, live.Spec.TrafficDistribution = wanted.Spec.Selector, wanted.Spec.TrafficDistribution
	live.Spec.PublishNotReadyAddresses = wanted.Spec.PublishNotReadyAddresses
	isExternal := live.Spec.Type == corev1.ServiceTypeExternalName
	switch {
	case isExternal && !o.external:
		policy := corev1.IPFamilyPolicySingleStack
		live.Spec.Type, live.Spec.ExternalName, live.Spec.IPFamilyPolicy = corev1.ServiceTypeClusterIP, "", &policy
		live.Spec.IPFamilies, live.Spec.Ports = nil, []corev1.ServicePort{anyPort()}
	case isExternal:
	case o.external:
		live.Spec.Type, live.Spec.ExternalName = corev1.ServiceTypeExternalName, "example.org"
		live.Spec.ClusterIP, live.Spec.ClusterIPs, live.Spec.IPFamilies, live.Spec.IPFamilyPolicy = "", nil, nil, nil
		live.Spec.InternalTrafficPolicy = nil
	default:
		live.Spec.Ports = wanted.Spec.Ports
		if len(live.Spec.Ports) == 0 && live.Spec.ClusterIP != corev1.ClusterIPNone {
			live.Spec.Ports = []corev1.ServicePort{anyPort()}
		}
		if o.refamily {
			changeFamilies(&live.Spec)
		}
	}
	return live
}

// changeFamilies makes a Service of one family one of both, and the other way round.
func changeFamilies(spec *corev1.ServiceSpec) {
	policy := corev1.IPFamilyPolicyPreferDualStack
	if len(spec.IPFamilies) > 1 {
		policy = corev1.IPFamilyPolicySingleStack
		spec.IPFamilies = spec.IPFamilies[:1]
		spec.ClusterIPs = spec.ClusterIPs[:min(1, len(spec.ClusterIPs))]
	}
	spec.IPFamilyPolicy = &policy
}

// handOver takes the selector from a Service and writes its Endpoints by hand in the same moment,
// as one `kubectl apply` of both does. Nothing happens between the two writes, so that controllers
// may see them in either order.
type handOver struct {
	onService
	wanted *corev1.Endpoints
}

func (o handOver) String() string {
	return fmt.Sprintf("take the selector from service %s, and at once write Endpoints %s labels=%s annotations=%s subsets=%s",
		o.Service, o.Service, canonical(o.wanted.Labels), canonical(o.wanted.Annotations), canonical(o.wanted.Subsets))
}

func (o handOver) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	live, err := c.CoreV1().Endpoints(namespace).Get(ctx, o.Service, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	known := err == nil
	_, err = c.CoreV1().Services(namespace).Patch(ctx, o.Service, types.MergePatchType, []byte(`{"spec":{"selector":null}}`), metav1.PatchOptions{})
	if err != nil {
		return ignoreMissing(err)
	}
	if known {
		_, err = c.CoreV1().Endpoints(namespace).Update(ctx, rewritten(live, o.wanted), metav1.UpdateOptions{})
		if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return writeEndpoints(o).do(ctx, c, namespace)
}

// deleteService deletes a Service.
type deleteService struct{ onService }

func (o deleteService) String() string { return "delete service " + o.Service }

func (o deleteService) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return ignoreMissing(c.CoreV1().Services(namespace).Delete(ctx, o.Service, metav1.DeleteOptions{}))
}

// putPod creates a pod with a status. It leaves a pod that exists as it is.
type putPod struct {
	onPod
	wanted *corev1.Pod
	status corev1.PodStatus
}

func (o putPod) String() string {
	return fmt.Sprintf("put pod %s labels=%s finalizers=%v spec=%s status=%s",
		o.Pod, canonical(o.wanted.Labels), o.wanted.Finalizers, canonical(o.wanted.Spec), canonical(o.status))
}

func (o putPod) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	wanted := o.wanted.DeepCopy()
	wanted.Spec.NodeName = nodeIn(namespace, wanted.Spec.NodeName)
	made, err := c.CoreV1().Pods(namespace).Create(ctx, wanted, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return errSkipped
	}
	if err != nil {
		return err
	}
	return setStatus{onPod{made.Name}, o.status}.do(ctx, c, namespace)
}

// setStatus gives a pod a status, as its kubelet does.
type setStatus struct {
	onPod
	status corev1.PodStatus
}

func (o setStatus) String() string {
	return fmt.Sprintf("status of %s: %s", o.Pod, canonical(o.status))
}

func (o setStatus) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return ignoreMissing(untilNoConflict(ctx, func() error {
		live, err := c.CoreV1().Pods(namespace).Get(ctx, o.Pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		live.Status = *o.status.DeepCopy()
		_, err = c.CoreV1().Pods(namespace).UpdateStatus(ctx, live, metav1.UpdateOptions{})
		return err
	}))
}

// deletePod deletes a pod at once, or as soon as nothing holds it.
type deletePod struct{ onPod }

func (o deletePod) String() string { return "delete pod " + o.Pod }

func (o deletePod) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return ignoreMissing(c.CoreV1().Pods(namespace).Delete(ctx, o.Pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

// releasePod takes the finalizers from a pod.
type releasePod struct{ onPod }

func (o releasePod) String() string { return "take the finalizers from pod " + o.Pod }

func (o releasePod) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	_, err := c.CoreV1().Pods(namespace).Patch(ctx, o.Pod, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	return ignoreMissing(err)
}

// relabel gives a pod other labels.
type relabel struct {
	onPod
	labels map[string]string
}

func (o relabel) String() string { return fmt.Sprintf("relabel pod %s %s", o.Pod, canonical(o.labels)) }

func (o relabel) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return ignoreMissing(untilNoConflict(ctx, func() error {
		live, err := c.CoreV1().Pods(namespace).Get(ctx, o.Pod, metav1.GetOptions{})
		if err != nil {
			return err
		}
		live.Labels = maps.Clone(o.labels)
		_, err = c.CoreV1().Pods(namespace).Update(ctx, live, metav1.UpdateOptions{})
		return err
	}))
}

// onNode is the part that operations have in common that are about the own node, on which any pod may be.
type onNode struct{}

func (onNode) concerns(string) bool { return true }

// createNode creates the own node in a zone, or in none.
type createNode struct {
	onNode
	zone string
}

func (o createNode) String() string { return fmt.Sprintf("create the own node in zone %q", o.zone) }

func (o createNode) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	// As a node of the control plane it doesn't count in the distribution over zones, which other
	// sequences depend on.
	labels := map[string]string{"node-role.kubernetes.io/control-plane": ""}
	if o.zone != "" {
		labels[corev1.LabelTopologyZone] = o.zone
	}
	made, err := c.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeIn(namespace, ownNode), Labels: labels}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return errSkipped
	}
	if err != nil {
		return err
	}
	return beat(ctx, c, made.Name)
}

// deleteNode deletes the object of the own node, whose pods run on.
type deleteNode struct{ onNode }

func (deleteNode) String() string { return "delete the own node" }

func (deleteNode) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return ignoreMissing(c.CoreV1().Nodes().Delete(ctx, nodeIn(namespace, ownNode), metav1.DeleteOptions{}))
}

// writeEndpoints writes Endpoints by hand, for a Service without a selector.
type writeEndpoints struct {
	onService
	wanted *corev1.Endpoints
}

func (o writeEndpoints) String() string {
	return fmt.Sprintf("write Endpoints %s labels=%s annotations=%s subsets=%s",
		o.Service, canonical(o.wanted.Labels), canonical(o.wanted.Annotations), canonical(o.wanted.Subsets))
}

func (o writeEndpoints) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	service, err := c.CoreV1().Services(namespace).Get(ctx, o.Service, metav1.GetOptions{})
	if err != nil {
		return ignoreMissing(err)
	}
	if service.Spec.Selector != nil {
		return errSkipped
	}
	return untilNoConflict(ctx, func() error {
		live, err := c.CoreV1().Endpoints(namespace).Get(ctx, o.Service, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			_, err = c.CoreV1().Endpoints(namespace).Create(ctx, o.wanted.DeepCopy(), metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) { // a controller was quicker: read again
				err = apierrors.NewConflict(corev1.Resource("endpoints"), o.Service, err)
			}
			return err
		}
		if err != nil {
			return err
		}
		_, err = c.CoreV1().Endpoints(namespace).Update(ctx, rewritten(live, o.wanted), metav1.UpdateOptions{})
		return err
	})
}

// rewritten returns Endpoints that exist, with what is wanted.
func rewritten(live, wanted *corev1.Endpoints) *corev1.Endpoints {
	written := wanted.DeepCopy()
	written.ResourceVersion, written.UID, written.Namespace = live.ResourceVersion, live.UID, live.Namespace
	return written
}

// deleteEndpoints deletes the Endpoints of a Service, whoever wrote them.
type deleteEndpoints struct{ onService }

func (o deleteEndpoints) String() string { return "delete Endpoints " + o.Service }

func (o deleteEndpoints) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return ignoreMissing(c.CoreV1().Endpoints(namespace).Delete(ctx, o.Service, metav1.DeleteOptions{}))
}

// deleteSlices deletes all slices of a Service.
type deleteSlices struct{ onService }

func (o deleteSlices) String() string { return "delete the slices of " + o.Service }

func (o deleteSlices) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	return c.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + o.Service})
}

// touch changes an annotation of a Service that means nothing, after which controllers look at the
// Service again.
type touch struct {
	onService
	times int
}

func (o touch) String() string { return "touch service " + o.Service }

func (o touch) do(ctx context.Context, c kubernetes.Interface, namespace string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"example.org/touched":"%d"}}}`, o.times)
	_, err := c.CoreV1().Services(namespace).Patch(ctx, o.Service, types.MergePatchType, patch, metav1.PatchOptions{})
	return ignoreMissing(err)
}

// ignoreMissing makes the absence of the object an operation with nothing to do.
func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) {
		return errSkipped
	}
	return err
}
