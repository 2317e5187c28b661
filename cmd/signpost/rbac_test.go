package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRBAC shows that exactly the roles for the flags are printed, with their bindings.
func TestRBAC(t *testing.T) {
	code, out, errText := runCommand(t.Context(), "rbac", "--source=ingress", "--provider=inmemory", "--policy=sync", "--namespace=shop", "--service-account=dns/publisher", "--dry-run")
	const want = `apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: signpost-dns
  namespace: shop
rules:
  # ingress
  - apiGroups: [networking.k8s.io]
    resources: [ingresses]
    verbs: [list, watch]
  - apiGroups: [events.k8s.io]
    resources: [events]
    verbs: [create, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: signpost-dns
  namespace: shop
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: signpost-dns
subjects:
  - kind: ServiceAccount
    name: publisher
    namespace: dns
`
	if diff := cmp.Diff(want, out); diff != "" || code != 0 || errText != "" {
		t.Errorf("exit code %d, error %q; output (-want +got):\n%s", code, errText, diff)
	}
	if code, out, _ := runCommand(t.Context(), "rbac", "--source=fake", "--provider=inmemory", "--policy=sync", "--dry-run"); code != 0 || out != "# signpost dns needs no rights.\n" {
		t.Errorf("exit code %d, %q; want a comment that nothing is needed", code, out)
	}
}

func TestRBACOfFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "signpost.yaml")
	const config = `apiVersion: signpost.dev/v1alpha1
kind: Config
dns:
  publishers:
    - {name: a, source: [node], provider: [inmemory], policy: sync}
    - {name: b, source: [pod], provider: [inmemory], policy: sync, txt-owner-id: b}
`
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errText := runCommand(t.Context(), "rbac", "--config="+file)
	for _, want := range []string{"  # node, pod\n", "resources: [nodes]", "resources: [pods]", "name: signpost-dns-lease\n  namespace: kube-system", "resourceNames: [signpost-dns]"} {
		if !strings.Contains(out, want) {
			t.Errorf("the roles lack %q (exit code %d, %s):\n%s", want, code, errText, out)
		}
	}
	for args, want := range map[string]string{
		"--config=" + file + " --source=pod":      "--config, --source: with a config file its fields count",
		"--config=missing":                        "no such file",
		"--service-account=x --source=pod":        "--service-account=x: must be the namespace and the name of a service account",
		"--source=pod --provider=inmemory":        "--policy",
		"--source=pods --provider=log --policy=x": "--source=pods: unknown",
		"--source=unstructured --unstructured-resource=widgets --provider=log --policy=sync": `--unstructured-resource "widgets": there is no version`,
		"--source=unstructured --provider=log --policy=sync":                                 "--unstructured-resource: the source unstructured has no resource to read",
		"--source=gloo-proxy --gloo-namespace=_ --provider=log --policy=sync":                `--gloo-namespace "_": no namespace has such a name`,
	} {
		if code, _, errText := runCommand(t.Context(), append([]string{"rbac"}, strings.Fields(args)...)...); code == 0 || !strings.Contains(errText, want) {
			t.Errorf("rbac %s: exit code %d and %q, want %q", args, code, errText, want)
		}
	}
}

// TestDeprecatedFlagOnStandardError shows that the warning about a deprecated flag isn't in the output, which
// goes to kubectl.
func TestDeprecatedFlagOnStandardError(t *testing.T) {
	code, out, errText := runCommand(t.Context(), "rbac", "--source=fake", "--provider=rfc2136", "--rfc2136-zone=example.org", "--rfc2136-host=192.0.2.53", "--rfc2136-tsig-axfr", "--rfc2136-insecure", "--policy=sync")
	if code != 0 || strings.Contains(out, "deprecated") || !strings.Contains(errText, "--rfc2136-tsig-axfr has been deprecated") {
		t.Errorf("exit code %d, output %q, error %q", code, out, errText)
	}
}
