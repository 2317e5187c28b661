package chart

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// deploymentFor returns the Deployment for values in YAML, with the role destination.
func deploymentFor(t *testing.T, text string) *appsv1.Deployment {
	t.Helper()
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte("destination: {enabled: true}\n"+text), &values); err != nil {
		t.Fatal(err)
	}
	objects, err := render(t, values, "signpost")
	if err != nil {
		t.Fatal(err)
	}
	return find[appsv1.Deployment](t, objects, "Deployment", "signpost")
}

// OpenShift's restricted-v2 refuses a user outside of the range of its namespace, so that the chart
// names none.
func TestNoFixedUser(t *testing.T) {
	pod := deploymentFor(t, "").Spec.Template.Spec
	for _, id := range []*int64{pod.SecurityContext.RunAsUser, pod.SecurityContext.RunAsGroup, pod.SecurityContext.FSGroup, pod.Containers[0].SecurityContext.RunAsUser} {
		if id != nil {
			t.Errorf("the pod has the fixed ID %d", *id)
		}
	}
	if !*pod.SecurityContext.RunAsNonRoot {
		t.Error("the pod may run as root")
	}
	if pod := deploymentFor(t, "podSecurityContext: {runAsUser: 1234}").Spec.Template.Spec; *pod.SecurityContext.RunAsUser != 1234 || !*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("with a user, the pod has %v", pod.SecurityContext)
	}
}

// What an operator sets for pods is in the Deployment.
func TestPodSettings(t *testing.T) {
	d := deploymentFor(t, `
priorityClassName: system-cluster-critical
terminationGracePeriodSeconds: 60
revisionHistoryLimit: 3
hostNetwork: true
dnsPolicy: ClusterFirstWithHostNet
lifecycle: {preStop: {sleep: {seconds: 7}}}
`)
	pod := d.Spec.Template.Spec
	if *d.Spec.RevisionHistoryLimit != 3 || pod.PriorityClassName != "system-cluster-critical" || *pod.TerminationGracePeriodSeconds != 60 ||
		!pod.HostNetwork || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet || pod.Containers[0].Lifecycle.PreStop.Sleep.Seconds != 7 {
		t.Errorf("the pod is %+v", pod)
	}
	if d := deploymentFor(t, ""); d.Spec.Template.Spec.HostNetwork || d.Spec.Template.Spec.Containers[0].Lifecycle.PreStop.Sleep.Seconds >= *d.Spec.Template.Spec.TerminationGracePeriodSeconds {
		t.Errorf("by default, the pod is %+v", d.Spec.Template.Spec)
	}
}

// In the host network, a pod with the default policy would not find the Services of the cluster.
func TestDNSPolicy(t *testing.T) {
	for values, want := range map[string]corev1.DNSPolicy{
		"": "", "hostNetwork: true": corev1.DNSClusterFirstWithHostNet, "hostNetwork: true\ndnsPolicy: Default": corev1.DNSDefault, "dnsPolicy: Default": corev1.DNSDefault,
	} {
		if got := deploymentFor(t, values).Spec.Template.Spec.DNSPolicy; got != want {
			t.Errorf("%s: the policy is %q, want %q", values, got, want)
		}
	}
}

// Helm keeps the CRDs of the chart, with all their objects, unless the values say otherwise.
func TestKeptCRDs(t *testing.T) {
	for keep, want := range map[string]string{"": "keep", ", keep: false": ""} {
		values := map[string]any{}
		if err := yaml.Unmarshal([]byte("destination: {enabled: true}\ncrds: {dns: true"+keep+"}"), &values); err != nil {
			t.Fatal(err)
		}
		objects, err := render(t, values, "signpost")
		if err != nil {
			t.Fatal(err)
		}
		crds := 0
		for _, o := range objects {
			if o.GetKind() != "CustomResourceDefinition" {
				continue
			}
			crds++
			if got := o.GetAnnotations()["helm.sh/resource-policy"]; got != want {
				t.Errorf("crds%s: %s has the policy %q, want %q", keep, o.GetName(), got, want)
			}
		}
		if crds != 2 {
			t.Errorf("crds%s: there are %d CRDs, want 2", keep, crds)
		}
	}
}

// Secrets are files, which can change without new pods. Fields that a config file takes from no
// file are variables.
func TestSecretsAreFiles(t *testing.T) {
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(`
dns:
  enabled: true
  publishers:
    - {name: a, source: service, provider: inmemory, policy: sync, txt-owner-id: a}
    - name: b
      source: service
      provider: pdns
      policy: sync
      txt-owner-id: b
      secretRef: {pdns-api-key: {name: dns, key: api}, pdns-server: {name: dns, key: url}}
`), &values); err != nil {
		t.Fatal(err)
	}
	objects, err := render(t, values, "signpost")
	if err != nil {
		t.Fatal(err)
	}
	config := find[corev1.ConfigMap](t, objects, "ConfigMap", "signpost").Data["signpost.yaml"]
	for _, want := range []string{"pdns-api-key-file: /etc/signpost-secrets/1-pdns-api-key\n", "pdns-server: ${SIGNPOST_1_PDNS_SERVER}\n"} {
		if !strings.Contains(config, want) {
			t.Errorf("the config file lacks %q:\n%s", want, config)
		}
	}
	pod := find[appsv1.Deployment](t, objects, "Deployment", "signpost").Spec.Template.Spec
	if i := slices.IndexFunc(pod.Containers[0].Env, func(e corev1.EnvVar) bool { return strings.HasPrefix(e.Name, "SIGNPOST_") }); i < 0 || pod.Containers[0].Env[i].Name != "SIGNPOST_1_PDNS_SERVER" {
		t.Errorf("the variables are %v", pod.Containers[0].Env)
	}
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == "secrets" })
	if i < 0 || len(pod.Volumes[i].Projected.Sources) != 1 || pod.Volumes[i].Projected.Sources[0].Secret.Items[0] != (corev1.KeyToPath{Key: "api", Path: "1-pdns-api-key"}) {
		t.Errorf("the volumes are %+v", pod.Volumes)
	}
}

// The ServiceMonitor selects the Service of the metrics alone, whose port is that of /metrics in the pods.
func TestServiceMonitor(t *testing.T) {
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte("destination: {enabled: true}\nmetrics: {serviceMonitor: {enabled: true, labels: {release: prometheus}, interval: 15s}}"), &values); err != nil {
		t.Fatal(err)
	}
	objects, err := render(t, values, "signpost")
	if err != nil {
		t.Fatal(err)
	}
	type endpoint struct {
		Port     string `json:"port"`
		Path     string `json:"path"`
		Interval string `json:"interval"`
	}
	type serviceMonitor struct {
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			Selector  metav1.LabelSelector `json:"selector"`
			Endpoints []endpoint           `json:"endpoints"`
		} `json:"spec"`
	}
	m := find[serviceMonitor](t, objects, "ServiceMonitor", "signpost")
	if len(m.Spec.Endpoints) != 1 || m.Spec.Endpoints[0] != (endpoint{"admin", "/metrics", "15s"}) || m.Labels["release"] != "prometheus" {
		t.Errorf("the ServiceMonitor is %+v", m)
	}
	pod := find[appsv1.Deployment](t, objects, "Deployment", "signpost").Spec.Template
	selected := 0
	for _, o := range objects {
		if o.GetKind() != "Service" || !selects(m.Spec.Selector.MatchLabels, o.GetLabels()) {
			continue
		}
		selected++
		service := find[corev1.Service](t, objects, "Service", o.GetName())
		hasPort := slices.ContainsFunc(pod.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal })
		if !selects(service.Spec.Selector, pod.Labels) || service.Spec.Ports[0].Name != "admin" || !hasPort {
			t.Errorf("the Service is %+v", service.Spec)
		}
	}
	if selected != 1 {
		t.Errorf("the ServiceMonitor selects %d Services, want 1", selected)
	}
}

// selects says whether labels have all that a selector asks for.
func selects(selector, labels map[string]string) bool {
	for key, value := range selector {
		if labels[key] != value {
			return false
		}
	}
	return true
}
