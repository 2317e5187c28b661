package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestCheckCommand shows the exit codes. 1 is also that of a wrong flag or config file, which the error
// names.
func TestCheckCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", "nonesuch")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	config := filepath.Join(t.TempDir(), "signpost.yaml")
	if err := os.WriteFile(config, []byte("apiVersion: signpost.dev/v1alpha1\nkind: Config\nkubeconfig: /of/the/file\ncontrollers:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	relative := filepath.Join(t.TempDir(), "signpost.yaml")
	if err := os.WriteFile(relative, []byte("apiVersion: signpost.dev/v1alpha1\nkind: Config\nkubeconfig: beside\ncontrollers:\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const fit = "check dns --source=fake --provider=inmemory --inmemory-zone=example.com --policy=sync"
	for name, test := range map[string]struct {
		args string
		code int
		// out must be in the output, and err must be the last line of the errors.
		out, err string
	}{
		"fit":                    {args: fit, out: "Everything that Signpost needs is there"},
		"short":                  {args: fit + " -o short --no-events", out: "note"},
		"something wrong":        {args: fit + " --domain-filter=example.net", code: 1, out: "failed   the provider has no zone for --domain-filter=example.net"},
		"no kubeconfig":          {args: "check controllers", code: 2, out: "nonesuch (of KUBECONFIG) does not exist"},
		"flag of Linkerd":        {args: "check destination -enable-ipv6=false -addr=:1", code: 2, out: "nonesuch (of KUBECONFIG) does not exist"},
		"letters of flags":       {args: "check destination -enable-ipv6=false -o short -n shop", code: 2, out: "nonesuch (of KUBECONFIG) does not exist"},
		"tolerated flag":         {args: "check destination --cluster-domain=a..b", code: 2, out: "nonesuch (of KUBECONFIG) does not exist", err: "warning: --cluster-domain=a..b: must be a domain name in lower case, such as cluster.local; it is used as given, and matches no name"},
		"kubeconfig of the file": {args: "check --config " + config, code: 2, out: "load the kubeconfig /of/the/file"},
		"relative kubeconfig":    {args: "check --config " + relative, code: 2, out: "load the kubeconfig " + filepath.Dir(relative) + "/beside"},
		"kubeconfig of a flag":   {args: "check --kubeconfig /of/the/flag --config " + config, code: 2, out: "load the kubeconfig /of/the/flag"},
		"nothing to check":       {args: "check", code: 1, err: "find the installation to check: load a kubeconfig: nonesuch (of KUBECONFIG) does not exist, and this is not a Pod: name one with --kubeconfig or KUBECONFIG; or name a config file with --config, or manifests with -f"},
		"two things to check":    {args: "check -f - --config " + config, code: 1, err: "--config and -f: give one of them"},
		"no such manifests":      {args: "check -f nonesuch.yaml", code: 1, err: "-f nonesuch.yaml: no such file or directory"},
		"no installation":        {args: "check -f ../../deploy/rbac/dns.yaml", code: 1, err: "-f ../../deploy/rbac/dns.yaml: no Deployment has the label app.kubernetes.io/name=signpost and a container with --config=…: name a config file with --config, or all manifests of the installation, as helm template prints them"},
		"missing secret":         {args: "check -f ../../deploy/signpost.yaml", code: 2, out: "rfc2136: was not asked, because a secret is missing: the key secret of the Secret signpost/signpost-tsig can't be read without the API server"},
		"unknown flag":           {args: "check dns --polcy=sync", code: 1, err: "unknown flag --polcy: did you mean --policy?"},
		"wrong flag":             {args: "check dns --source=fake --provider=inmemory", code: 1, err: "--policy: none given: use sync, upsert-only or create-only (ExternalDNS before 0.22 took sync)"},
		"wrong setting":          {args: "check controllers --concurrent-endpoint-syncs=0", code: 1, err: "--concurrent-endpoint-syncs=0: must be at least 1"},
		"wrong file":             {args: "check --config ../../app/settings/testdata/config/norole.good.yaml", code: 1, err: "../../app/settings/testdata/config/norole.good.yaml:1: no role to run: add the section destination, controllers, dns or xds"},
		"wrong format":           {args: fit + " -o xml", code: 1, err: "--output=xml: must be one of table, short, json, yaml"},
		"negative wait":          {args: fit + " --wait=-1s", code: 1, err: "--wait=-1s: must not be negative"},
		"no time":                {args: fit + " --timeout=0s", code: 1, err: "--timeout=0s: must be more than 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errText := runCommand(t.Context(), strings.Fields(test.args)...)
			if got := strings.TrimPrefix(lastLine(errText), "signpost: "); code != test.code || !strings.Contains(out, test.out) || got != test.err {
				t.Errorf("status %d, want %d; errors %q, want %q; output:\n%s", code, test.code, got, test.err, out)
			}
		})
	}
}

// TestCheckWaits shows that --wait repeats the checks until everything is fit.
func TestCheckWaits(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case requests.Add(1) == 1:
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/zones"):
			io.WriteString(w, `[{"id":"example.org.","name":"example.org.","kind":"Native"}]`)
		default:
			io.WriteString(w, `{"id":"example.org.","name":"example.org.","kind":"Native","rrsets":[]}`)
		}
	}))
	defer server.Close()
	args := []string{"check", "dns", "--source=fake", "--provider=pdns", "--pdns-server=" + server.URL, "--pdns-api-key=key", "--policy=sync", "-o", "json"}
	result := func(args []string) (int, string) {
		t.Helper()
		code, out, errText := runCommand(t.Context(), args...)
		var report struct{ Result string }
		if err := json.Unmarshal([]byte(out), &report); err != nil || errText != "" {
			t.Fatalf("status %d, %v, %q:\n%s", code, err, errText, out)
		}
		return code, report.Result
	}
	if code, got := result(args); code != 1 || got != "failed" {
		t.Errorf("without --wait: status %d, %s", code, got)
	}
	requests.Store(0)
	if code, got := result(append(args, "--wait=30s")); code != 0 || got != "fit" {
		t.Errorf("with --wait: status %d, %s", code, got)
	}
}

// installed returns the path of manifests of an installation with a config file and the arguments
// of its container.
func installed(t *testing.T, config string, args ...string) string {
	t.Helper()
	type object = map[string]any
	text, err := json.Marshal(object{"apiVersion": "v1", "kind": "List", "items": []any{
		object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "c", "namespace": "evil"}, "data": object{"signpost.yaml": config}},
		object{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": "d", "namespace": "evil", "labels": object{"app.kubernetes.io/name": "signpost"}},
			"spec": object{"template": object{"spec": object{
				"containers": []any{object{"name": "x", "args": args, "env": []any{object{"name": "PLAIN", "value": "plain"}}, "volumeMounts": []any{object{"name": "c", "mountPath": "/c"}}}},
				"volumes":    []any{object{"name": "c", "configMap": object{"name": "c"}}},
			}}},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "manifests.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Arguments with which `signpost run` wouldn't start are wrong.
func TestCheckArgumentsOfTheContainer(t *testing.T) {
	t.Setenv("KUBECONFIG", "nonesuch")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const config = "apiVersion: signpost.dev/v1alpha1\nkind: Config\ncontrollers:\n"
	for argument, want := range map[string]string{
		"--log-levle=debug": "the arguments of the Deployment evil/d: unknown flag --log-levle: did you mean --log-level?",
		"--log-level=loud":  "--log-level=loud",
		"debug":             `unexpected argument "debug"`,
	} {
		if code, _, errText := runCommand(t.Context(), "check", "-f", installed(t, config, "run", "--config=/c/signpost.yaml", argument)); code != exitFailure || !strings.Contains(errText, want) {
			t.Errorf("%s: status %d, %q, want %q", argument, code, errText, want)
		}
	}
	if code, out, errText := runCommand(t.Context(), "check", "-f", installed(t, config, "run", "--config=/c/signpost.yaml", "--log-level=debug")); code != exitUnknown || errText != "" {
		t.Errorf("status %d, %q, %q", code, out, errText)
	}
}

// The config file of an installation may be a tenant's: what it refers to is in the pod, and
// nothing of this machine goes to the servers that it names.
func TestCheckKeepsSecretsOfThisMachine(t *testing.T) {
	t.Setenv("KUBECONFIG", "nonesuch")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("OWN_TOKEN", "hunter2")
	dir := t.TempDir()
	key := filepath.Join(dir, "own.key")
	if err := os.WriteFile(key, []byte("hunter2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var leaked atomic.Value
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path+r.Header.Get("X-API-Key"), "hunter2") {
			leaked.Store(r.URL.Path + " with the key " + r.Header.Get("X-API-Key"))
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer server.Close()
	for name, test := range map[string]struct{ fields, out, err string }{
		"a variable":            {fields: "pdns-api-key: ${OWN_TOKEN}", out: "the Deployment sets no variable OWN_TOKEN"},
		"a variable, no secret": {fields: "pdns-api-key: key\n    pdns-server-id: ${OWN_TOKEN}", err: "there is no such environment variable"},
		"a file":                {fields: "pdns-api-key-file: " + key, out: "the Deployment mounts no Secret as the file " + key},
		"a file, disguised":     {fields: `pdns-api-key-file: "` + strings.ReplaceAll(key, "own", `\x6fwn`) + `"`, out: "the Deployment mounts no Secret as the file " + key},
		"a file by an alias":    {fields: "pdns-server-id: &a " + key + "\n    pdns-api-key-file: *a", out: "the Deployment mounts no Secret as the file " + key},
		"a kubeconfig":          {fields: "pdns-api-key: key\nkubeconfig: " + key, out: "nonesuch (of KUBECONFIG) does not exist"},
		"a plain variable":      {fields: "pdns-api-key: ${PLAIN}", out: "PowerDNS answered with status 401"},
	} {
		t.Run(name, func(t *testing.T) {
			leaked.Store("")
			config := "apiVersion: signpost.dev/v1alpha1\nkind: Config\ndns:\n  publishers:\n  - source: fake\n    policy: sync\n    provider: pdns\n    txt-owner-id: o\n    pdns-server: " + server.URL + "\n    " + test.fields + "\n"
			if name == "a kubeconfig" {
				config = strings.Replace(config, "source: fake", "source: service", 1)
			}
			_, out, errText := runCommand(t.Context(), "check", "-f", installed(t, config, "--config=/c/signpost.yaml"))
			if got := leaked.Load(); got != "" {
				t.Errorf("the server got %s", got)
			}
			if !strings.Contains(out, test.out) || !strings.Contains(errText, test.err) {
				t.Errorf("output %q, want %q; errors %q, want %q", out, test.out, errText, test.err)
			}
		})
	}
}

func TestVersionFlag(t *testing.T) {
	if code, out, _ := runCommand(t.Context(), "--version"); code != 0 || out != "dev\n" {
		t.Errorf("status %d, %q", code, out)
	}
}
