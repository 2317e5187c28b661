package model

import (
	"fmt"

	pb "github.com/linkerd/linkerd2-proxy-api/go/destination"
	"google.golang.org/protobuf/encoding/protojson"
)

// baseWeight is the weight of every endpoint (docs/spec/destination.md §2.8), because the lab doesn't set
// ext-endpoint-zone-weights.
const baseWeight = 10000

// defaultServiceAccount is the account of a pod without one.
const defaultServiceAccount = "default"

// ReadAddress parses an address that a stream of Get has reported: a WeightedAddr in the JSON mapping of
// protobuf, with the labels of its set among its own.
func ReadAddress(text string) (*pb.WeightedAddr, error) {
	a := &pb.WeightedAddr{}
	if err := protojson.Unmarshal([]byte(text), a); err != nil {
		return nil, fmt.Errorf("read what was said of an address: %w", err)
	}
	return a, nil
}

// ReportedWorkload returns the workload in the labels of an address, without UID. The default namespace is
// that of its Service.
func ReportedWorkload(a *pb.WeightedAddr, namespace string) Workload {
	for _, kind := range []string{KindPod, KindExternalWorkload} {
		if name, ok := a.GetMetricLabels()[labelOfKind[kind]]; ok {
			return Workload{Kind: kind, Namespace: namespace, Name: name}
		}
	}
	return Workload{}
}

var labelOfKind = map[string]string{KindPod: "pod", KindExternalWorkload: "external_workload"}

// Objections returns the errors in the reported fields of an endpoint (docs/spec/destination.md §2.8).
// Checked are the weight, the labels and the identity of a meshed pod, but not labels of owners, hints and
// other identities.
func Objections(s *State, t Target, trustDomain string, e Endpoint, reported *pb.WeightedAddr) []string {
	var all []string
	if reported.GetWeight() != baseWeight {
		all = append(all, fmt.Sprintf("the weight is %d, not %d", reported.GetWeight(), baseWeight))
	}
	for key, want := range labels(s, t, e) {
		if got, ok := reported.GetMetricLabels()[key]; !ok || got != want {
			all = append(all, fmt.Sprintf("the label %s is %q, not %q", key, got, want))
		}
	}
	if want := identity(s, trustDomain, e.Workload); want != "" {
		if got := reported.GetTlsIdentity().GetDnsLikeIdentity().GetName(); got != "" && got != want {
			all = append(all, fmt.Sprintf("the identity is %q, not %q", got, want))
		}
	}
	return all
}

// labels returns the labels that an endpoint must have.
func labels(s *State, t Target, e Endpoint) map[string]string {
	out := map[string]string{"service": t.Service, "namespace": t.Namespace}
	w := e.Workload
	if w == (Workload{}) {
		return out
	}
	out[labelOfKind[w.Kind]] = w.Name
	out["zone"] = e.Zone
	if w.Kind != KindPod {
		return out
	}
	pod, ok := Get[Meta](s, Pods, w.Namespace, w.Name)
	if !ok {
		return out
	}
	out["serviceaccount"] = serviceAccount(pod)
	for label, key := range map[string]string{controlPlane: "control_plane_ns", "pod-template-hash": "pod_template_hash"} {
		if v := pod.Metadata.Labels[label]; v != "" {
			out[key] = v
		}
	}
	return out
}

const controlPlane = "linkerd.io/control-plane-ns"

func serviceAccount(pod *Meta) string {
	if pod.Spec.ServiceAccountName == "" {
		return defaultServiceAccount
	}
	return pod.Spec.ServiceAccountName
}

// identity returns the TLS identity of a meshed pod; empty for other workloads.
func identity(s *State, trustDomain string, w Workload) string {
	if w.Kind != KindPod {
		return ""
	}
	pod, ok := Get[Meta](s, Pods, w.Namespace, w.Name)
	if !ok || pod.Metadata.Labels[controlPlane] == "" {
		return ""
	}
	return fmt.Sprintf("%s.%s.serviceaccount.identity.%s.%s", serviceAccount(pod), w.Namespace, pod.Metadata.Labels[controlPlane], trustDomain)
}
