package crd

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/signpostd/signpost/api/externaldns"
	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner/claims"
	"github.com/signpostd/signpost/testkit/kubetest"
)

const dnsRecords = "dnsrecords"

// kubernetes returns a client of the cluster.
func (s *fixture) kubernetes() kubernetes.Interface {
	s.t.Helper()
	httpClient, err := rest.HTTPClientFor(s.cluster.Config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(httpClient.CloseIdleConnections)
	client, err := kubernetes.NewForConfigAndClient(s.cluster.Config, httpClient)
	if err != nil {
		s.t.Fatal(err)
	}
	return client
}

// ownerOf returns an owner that acts as a user that has some verbs.
func (s *fixture) ownerOf(user string, verbs ...string) *claims.Owner {
	s.t.Helper()
	if len(verbs) > 0 {
		s.grant(user, verbs)
	}
	config := rest.CopyConfig(s.cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(httpClient.CloseIdleConnections)
	o, err := New(Options{Config: config, HTTPClient: httpClient, Namespace: s.namespace, ID: "me"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.load(o)
	return o
}

// grant gives a user some verbs, and waits until the API server knows them.
func (s *fixture) grant(user string, verbs []string) {
	s.t.Helper()
	client := s.kubernetes()
	role := &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{externaldns.SchemeGroupVersion.Group}, Resources: []string{dnsRecords, dnsRecords + "/status"}, Verbs: verbs}},
	}
	if _, err := client.RbacV1().Roles(s.namespace).Create(s.t.Context(), role, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := client.RbacV1().RoleBindings(s.namespace).Create(s.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	kubetest.Eventually(s.t, time.Minute, func() error {
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: s.namespace, Verb: verbs[0], Group: externaldns.SchemeGroupVersion.Group, Resource: dnsRecords,
		}}}
		made, err := client.AuthorizationV1().SubjectAccessReviews().Create(s.t.Context(), review, metav1.CreateOptions{})
		if err == nil && !made.Status.Allowed {
			err = fmt.Errorf("%s may not %s yet", user, verbs[0])
		}
		return err
	})
}

// quota lets the namespace have so many DNSRecords. The admission plug-in counts them itself.
func (s *fixture) quota(limit string) {
	s.t.Helper()
	hard := corev1.ResourceList{corev1.ResourceName("count/dnsrecords." + externaldns.SchemeGroupVersion.Group): resource.MustParse(limit)}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "few"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	quotas := s.kubernetes().CoreV1().ResourceQuotas(s.namespace)
	made, err := quotas.Create(s.t.Context(), q, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	made.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{}}
	for name := range hard {
		made.Status.Used[name] = resource.MustParse("0")
	}
	if _, err := quotas.UpdateStatus(s.t.Context(), made, metav1.UpdateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// policy has the API server deny DNSRecords with a target, and waits until that is in force.
func (s *fixture) policy(target string, reason metav1.StatusReason) {
	s.t.Helper()
	client, name := s.kubernetes(), s.namespace+"-"+strings.ToLower(string(reason))
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule:       admissionv1.Rule{APIGroups: []string{externaldns.SchemeGroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{dnsRecords}},
	}}
	p := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
		// The message has the words of a missing right.
		Validations: []admissionv1.Validation{{Expression: fmt.Sprintf("!object.spec.endpoint.targets.exists(t, t == %q)", target), Reason: &reason, Message: `User "me" cannot create resource "dnsrecords", and cannot update resource "dnsrecords" in API group`}},
	}}
	if _, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Create(s.t.Context(), p, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	b := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		MatchResources: &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: s.namespace}}},
	}}
	if _, err := client.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings().Create(s.t.Context(), b, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	kubetest.Eventually(s.t, time.Minute, func() error {
		object := &externaldns.DNSRecord{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		object.Spec.Endpoint = endpointOf(record("probe.example.com", target), nil)
		_, err := s.client.Create(s.t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil {
			return errors.New("the policy is not in force")
		}
		return nil
	})
}

// outcome says what happens to a change before it is made.
func (s *fixture) outcome(o *claims.Owner, c dns.Change) string {
	s.t.Helper()
	apply, refused, err := o.Before(s.t.Context(), nil, []dns.Change{c})
	switch {
	case err != nil:
		return "failed"
	case len(refused) > 0:
		return "refused"
	case len(apply) > 0:
		return "applied"
	}
	return "nothing"
}

// The API server refuses one object, which fails alone, or all objects, which fails the batch.
func TestRefusals(t *testing.T) {
	s := newFixture(t)
	old, new := record("old.example.com", "192.0.2.1"), record("new.example.com", "192.0.2.1")
	s.make(s.Owner, dns.Change{New: old})
	update := func(target string) dns.Change {
		was := old.Clone()
		was.Labels[dns.LabelOwner] = "me"
		return dns.Change{Old: was, New: record(old.Name, target)}
	}
	check := func(what, user string, verbs []string, c dns.Change, want string) {
		t.Helper()
		if got := s.outcome(s.ownerOf(user, verbs...), c); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("no right to create", "no-create", []string{"get", "list", "update"}, dns.Change{New: new}, "failed")
	check("no right to update", "no-update", []string{"get", "list", "create"}, update("192.0.2.2"), "failed")
	check("no right to get", "no-get", []string{"list", "create", "update"}, update("192.0.2.2"), "failed")
	all := []string{"get", "list", "create", "update"}
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid} {
		target := map[metav1.StatusReason]string{metav1.StatusReasonForbidden: "192.0.2.66", metav1.StatusReasonInvalid: "192.0.2.77"}[reason]
		s.policy(target, reason)
		user := strings.ToLower(string(reason))
		check("policy, "+user+", create", user, all, dns.Change{New: record("new.example.com", target)}, "refused")
		check("policy, "+user+", update", user, nil, update(target), "refused")
	}
	s.quota("0")
	check("quota", "quota", all, dns.Change{New: new}, "refused")
	if err := s.kubernetes().CoreV1().Namespaces().Delete(t.Context(), s.namespace, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	check("namespace that is being deleted", "quota", nil, dns.Change{New: new}, "failed")
}

// Responses that a real API server gives only with a webhook, or through a proxy.
func TestForbidsAll(t *testing.T) {
	kind := schema.GroupResource{Group: externaldns.SchemeGroupVersion.Group, Resource: dnsRecords}
	webhook := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: `admission webhook "w" denied the request: it cannot update resource x`}}
	proxy := apierrors.NewGenericServerResponse(http.StatusForbidden, http.MethodPost, kind, "a", "<html>", 0, true)
	for name, test := range map[string]struct {
		err     error
		refused bool
	}{
		"webhook": {webhook, true},
		"proxy":   {proxy, false},
		"no API":  {errors.New("connection refused"), false},
	} {
		if got := refused(fmt.Errorf("write: %w", test.err)); got != test.refused {
			t.Errorf("%s: refused is %t", name, got)
		}
	}
}
