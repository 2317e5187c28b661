package installation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/signpostd/signpost/internal/manifest"
)

// plain has a Secret as a file, a Secret as a variable, and a config file with another name than its key.
const plain = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: dns}
data: {the-key: "kind: Config\n"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: publisher, namespace: dns, labels: {app.kubernetes.io/name: signpost}}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: writer
      containers:
        - name: signpost
          args: [run, --config=/etc/x/signpost.yaml]
          env: [{name: KEY, valueFrom: {secretKeyRef: {name: keys, key: api}}}, {name: OTHER, value: x}]
          volumeMounts: [{name: config, mountPath: /etc/x}, {name: secrets, mountPath: /secrets/}, {name: old, mountPath: /old}]
      volumes:
        - {name: config, configMap: {name: settings, items: [{key: the-key, path: signpost.yaml}]}}
        - {name: secrets, projected: {sources: [{secret: {name: keys, items: [{key: tsig, path: 0-tsig}]}}]}}
        - {name: old, secret: {secretName: more, items: [{key: k, path: f}]}}
`

func fromText(t *testing.T, text string) (Installation, error) {
	t.Helper()
	objects, err := manifest.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return FromManifests(objects)
}

// FromManifests and Find return the same installation.
func TestFound(t *testing.T) {
	found, err := fromText(t, plain)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string]secretKey{"${KEY}": {"keys", "api"}, "/secrets/0-tsig": {"keys", "tsig"}, "/old/f": {"more", "k"}}
	if found.Account.String() != "dns/writer" || found.Deployment.String() != "dns/publisher" || string(found.Config) != "kind: Config\n" || found.File != "ConfigMap dns/settings:the-key" {
		t.Errorf("found %+v", found)
	}
	if diff := cmp.Diff(secrets, found.secrets); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"keys", "more"}, found.Mounted); diff != "" {
		t.Error(diff)
	}
	elsewhere, err := fromText(t, plain+`---
{apiVersion: v1, kind: Namespace, metadata: {name: made}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: links, namespace: linkerd}}
---
{apiVersion: v1, kind: Service, metadata: {name: s, namespace: made}}
`)
	if diff := cmp.Diff(map[string]string{"linkerd": "Role links"}, elsewhere.Namespaces); err != nil || diff != "" {
		t.Error(err, diff)
	}
	client := fake.NewClientset(objectsOf(t, plain)...)
	for _, namespace := range []string{"", "dns"} {
		inCluster, err := Find(t.Context(), client, namespace)
		if err != nil || cmp.Diff(found, inCluster, cmp.AllowUnexported(Installation{})) != "" {
			t.Errorf("in the cluster: %+v, %v", inCluster, err)
		}
	}
}

// objectsOf returns the typed objects of manifests.
func objectsOf(t *testing.T, text string) (all []runtime.Object) {
	t.Helper()
	decoded, err := manifest.Decode(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range decoded {
		typed, err := scheme.Scheme.New(o.GroupVersionKind())
		if err != nil {
			t.Fatal(err)
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, typed); err != nil {
			t.Fatal(err)
		}
		all = append(all, typed)
	}
	return all
}

// Errors name the missing part, and what to do.
func TestNotFound(t *testing.T) {
	for name, test := range map[string]struct{ old, new, want string }{
		"no label":        {"labels: {app.kubernetes.io/name: signpost}", "labels: {}", "no Deployment has the label app.kubernetes.io/name=signpost"},
		"flags":           {"[run, --config=/etc/x/signpost.yaml]", "[dns, --policy=sync]", "name a config file with --config"},
		"no volume":       {"mountPath: /etc/x}", "mountPath: /etc/y}", `its config file "/etc/x/signpost.yaml" is in no ConfigMap`},
		"no ConfigMap":    {"name: settings, namespace: dns", "name: others, namespace: dns", "get the ConfigMap dns/settings with the config file of the Deployment publisher: the manifests lack it"},
		"no key":          {"{the-key:", "{another:", "lacks the key the-key"},
		"wrong type":      {"args: [run, --config=/etc/x/signpost.yaml]", "args: 5", "read the Deployment publisher"},
		"two Deployments": {"\n---\n", "\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: b, namespace: dns, labels: {app.kubernetes.io/name: signpost}}\nspec: {template: {spec: {containers: [{args: [\"--config=/x/y\"]}]}}}\n---\n", "2 installations (dns/b, dns/publisher)"},
	} {
		if _, err := fromText(t, strings.Replace(plain, test.old, test.new, 1)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: the error is %v, want %q", name, err, test.want)
		}
	}
}

// References are replaced by the values of Secrets, and lines keep their numbers. Without a value
// there is a placeholder, and the publisher is returned.
func TestResolve(t *testing.T) {
	here := filepath.Join(t.TempDir(), "here")
	if err := os.WriteFile(here, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SIGNPOST_TEST_SET", "x")
	known := func(reference string) (string, bool, error) {
		switch reference {
		case "${KEY}", "/secrets/key":
			return "s3:cret\"\n", true, nil
		case "${LOST}", "/secrets/lost":
			return "", true, errors.New("lost")
		}
		return Local(reference)
	}
	for name, test := range map[string]struct {
		text, want string
		missing    []int
	}{
		"a variable":           {"dns:\n  publishers:\n    - pdns-api-key: ${KEY} # c\n", "dns:\n  publishers:\n    - pdns-api-key: \"s3:cret\\\"\\n\" # c\n", nil},
		"in quotes":            {"dns:\n  publishers:\n    - pdns-api-key: '${KEY}'\n", "dns:\n  publishers:\n    - pdns-api-key: \"s3:cret\\\"\\n\"\n", nil},
		"a file":               {"dns:\n  publishers:\n    - pdns-api-key-file: /secrets/key\n", "dns:\n  publishers:\n    - pdns-api-key: \"s3:cret\\\"\\n\"\n", nil},
		"on one line":          {"dns: {publishers: [{name: ä, pdns-api-key-file: /secrets/key}]}", "dns: {publishers: [{name: ä, pdns-api-key: \"s3:cret\\\"\\n\"}]}", nil},
		"missing":              {"dns: {publishers: [{name: a}, {pdns-api-key-file: /secrets/lost, rfc2136-tsig-secret: \"${LOST}\"}]}", "dns: {publishers: [{name: a}, {pdns-api-key: \"c2lnbnBvc3Q=\", rfc2136-tsig-secret: \"c2lnbnBvc3Q=\"}]}", []int{1}},
		"not here":             {"dns: {publishers: [{pdns-api-key-file: /nonesuch/key}]}", "dns: {publishers: [{pdns-api-key: \"c2lnbnBvc3Q=\"}]}", []int{0}},
		"on this machine":      {"dns: {publishers: [{pdns-api-key-file: " + here + "}, {pdns-api-key: \"${SIGNPOST_TEST_SET}\"}]}", "", nil},
		"no secret":            {"dns: {publishers: [{pdns-server: \"${LOST}\", azure-config-file: /secrets/lost}]}", "", nil},
		"not a publisher":      {"log: {level: \"${KEY}\"}\ndns: {publishers: [x, {}]}", "", nil},
		"no publishers":        {"dns: {publishers: {}}", "", nil},
		"no YAML":              {"a: [", "", nil},
		"empty":                {"", "", nil},
		"a value of two lines": {"dns:\n  publishers:\n    - pdns-api-key: >-\n        ${KEY}\n", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, missing := Resolve([]byte(test.text), known)
			if want := test.want; want != "" && string(got) != want || want == "" && string(got) != test.text {
				t.Errorf("it is\n%s\nwant\n%s", got, want)
			}
			if len(missing) != len(test.missing) {
				t.Errorf("missing: %v, want %v", missing, test.missing)
			}
			for _, i := range test.missing {
				if missing[i] == nil {
					t.Errorf("missing: %v, want %v", missing, test.missing)
				}
			}
		})
	}
}

// A Secret that can't be read says why.
func TestSecrets(t *testing.T) {
	found, err := fromText(t, plain)
	if err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "keys"}, Data: map[string][]byte{"api": []byte("secret\n")}})
	for reference, want := range map[string]string{"${KEY}": "secret", "/secrets/0-tsig": "the Secret has no such key", "/old/f": "there is no such Secret"} {
		value, known, err := found.Secrets(t.Context(), client)(reference)
		if err != nil {
			value = err.Error()
		}
		if !known || !strings.Contains(value, want) {
			t.Errorf("%s: %q, want %q", reference, value, want)
		}
	}
	if _, _, err := found.Secrets(t.Context(), nil)("${KEY}"); err == nil || !strings.Contains(err.Error(), "without the API server") {
		t.Errorf("without an API server: %v", err)
	}
}
