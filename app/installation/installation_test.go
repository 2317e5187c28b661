package installation

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/signpostd/signpost/app/settings"
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

// resolve returns the secrets of the publishers of a list, and which lack one.
func resolve(t *testing.T, r *Resolver, publishers string) (secrets []string, missing map[string]error) {
	t.Helper()
	text := "apiVersion: signpost.dev/v1alpha1\nkind: Config\ndns:\n  publishers: " + publishers + "\n"
	config, err := settings.Decode("signpost.yaml", []byte(text), r.References)
	if err != nil {
		return []string{err.Error()}, nil
	}
	for _, p := range config.DNS.Publishers {
		secrets = append(secrets, p.Secrets()...)
	}
	return secrets, r.Missing(config.DNS.Publishers)
}

// publisher returns a publisher with a field for its secret.
func publisher(name, secret string) string {
	return fmt.Sprintf("\n    - name: %s\n      source: fake\n      policy: sync\n      provider: pdns\n      pdns-server: http://192.0.2.1:%d\n      txt-owner-id: %[1]s\n      %[3]s", name, 8081+len(name), secret)
}

// References are resolved by the Secrets of the installation, however they are written. A secret
// that can't be read has a placeholder, and its publisher lacks it.
func TestResolver(t *testing.T) {
	found, err := fromText(t, plain)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HERE", "of this machine")
	client := fake.NewClientset(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "dns", Name: "keys"}, Data: map[string][]byte{"api": []byte("s3:cret\"\n")}})
	for name, test := range map[string]struct {
		secret, want, missing string
		api                   kubernetes.Interface
	}{
		"a variable":        {"pdns-api-key: ${KEY}", "s3:cret\"", "", client},
		"in quotes":         {"pdns-api-key: '${KEY}'", "s3:cret\"", "", client},
		"in several lines":  {"pdns-api-key: \"\\\n    ${KEY}\"", "s3:cret\"", "", client},
		"a value":           {"pdns-api-key: ${OTHER}", "x", "", client},
		"no key":            {"pdns-api-key-file: /secrets/0-tsig", "", "the key tsig of the Secret dns/keys is missing: the Secret has no such key", client},
		"no Secret":         {"pdns-api-key-file: /old/f", "", "there is no such Secret", client},
		"no API server":     {"pdns-api-key: ${KEY}", "", "without the API server", nil},
		"of this machine":   {"pdns-api-key: ${HERE}", "", "the Deployment sets no variable HERE", client},
		"a file of another": {"pdns-api-key-file: /etc/hostname", "", "the Deployment mounts no Secret as the file /etc/hostname", client},
	} {
		secrets, missing := resolve(t, found.Resolver(t.Context(), test.api), publisher("a", test.secret))
		if why := missing["a"]; (why != nil) != (test.missing != "") || why != nil && !strings.Contains(why.Error(), test.missing) || why == nil && !slices.Equal(secrets, []string{test.want}) {
			t.Errorf("%s: %q, missing %v", name, secrets, missing)
		}
	}
	if faults, _ := resolve(t, found.Resolver(t.Context(), client), strings.Replace(publisher("a", "pdns-api-key: x"), "provider: pdns", "provider: ${HERE}", 1)); !strings.Contains(faults[0], "${HERE}: there is no such environment variable") {
		t.Errorf("a variable of this machine: %q", faults)
	}
}

// On this machine only what is missing here gets a placeholder.
func TestLocal(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "of the file\n", "empty": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("SIGNPOST_TEST_SET", "of the variable")
	secrets, missing := resolve(t, Local(), publisher("a", "pdns-api-key-file: "+dir+"/key")+publisher("ab", "pdns-api-key: ${SIGNPOST_TEST_SET}")+
		publisher("abc", "pdns-api-key-file: /nonesuch/key")+publisher("abcd", "pdns-api-key: ${SIGNPOST_TEST_UNSET}"))
	if len(secrets) != 4 || secrets[0] != "of the file" || secrets[1] != "of the variable" || len(missing) != 2 {
		t.Fatalf("%q, missing %v", secrets, missing)
	}
	if !strings.Contains(missing["abc"].Error(), "the file \"/nonesuch/key\" does not exist here") || !strings.Contains(missing["abcd"].Error(), "variable SIGNPOST_TEST_UNSET is not set here") {
		t.Errorf("missing %v", missing)
	}
	if faults, _ := resolve(t, Local(), publisher("a", "pdns-api-key-file: "+dir+"/empty")); !strings.Contains(faults[0], "is empty: write the secret into it") {
		t.Errorf("an empty file: %q", faults)
	}
}
