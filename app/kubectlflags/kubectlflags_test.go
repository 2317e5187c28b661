package kubectlflags_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/kubectlflags"
)

const kubeconfig = `{apiVersion: v1, kind: Config, current-context: one,
  clusters: [{name: a, cluster: {server: "https://a"}}, {name: b, cluster: {server: "https://b"}}],
  users: [{name: u, user: {token: secret}}, {name: delegate, user: {token: secret, as: deputy}}],
  contexts: [{name: one, context: {cluster: a, user: u}}, {name: two, context: {cluster: b, user: u, namespace: shop}}]}`

// parsed returns flags of a command line for a kubeconfig, beside flags that the command has.
func parsed(t *testing.T, own func(*pflag.FlagSet), args ...string) *kubectlflags.Flags {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(path, []byte(kubeconfig), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	own(flags)
	f := kubectlflags.New()
	f.Add(flags)
	if err := flags.Parse(append([]string{"--kubeconfig=" + path}, args...)); err != nil {
		t.Fatal(err)
	}
	return f
}

func noFlags(*pflag.FlagSet) {}

func TestFlags(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		args                            []string
		host, namespace, as, groups, id string
	}{
		"nothing":           {host: "https://a", namespace: "default"},
		"context":           {args: []string{"--context=two"}, host: "https://b", namespace: "shop"},
		"namespace":         {args: []string{"--context=two", "-n", "bar"}, host: "https://b", namespace: "bar"},
		"namespace in full": {args: []string{"--namespace=ns/bar"}, host: "https://a", namespace: "bar"},
		"cluster":           {args: []string{"--cluster=b"}, host: "https://b", namespace: "default"},
		"as":                {args: []string{"--as=me", "--as-group=x", "--as-group=y", "--as-uid=7"}, host: "https://a", namespace: "default", as: "me", groups: "x,y", id: "7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := parsed(t, noFlags, test.args...)
			cfg, err := f.RESTConfig("check")
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Host != test.host || cfg.BearerToken != "secret" || !strings.HasSuffix(cfg.UserAgent, " check") {
				t.Errorf("got host %s, token %s, agent %s", cfg.Host, cfg.BearerToken, cfg.UserAgent)
			}
			if as := cfg.Impersonate; as.UserName != test.as || strings.Join(as.Groups, ",") != test.groups || as.UID != test.id {
				t.Errorf("got the identity %+v", as)
			}
			if namespace, err := f.Namespace(); namespace != test.namespace || err != nil {
				t.Errorf("got the namespace %s, %v; want %s", namespace, err, test.namespace)
			}
		})
	}
}

// The identity of --as doesn't replace that of the kubeconfig, which may itself be another user's.
func TestOwnConfig(t *testing.T) {
	t.Parallel()
	f := parsed(t, noFlags, "--context=two", "--user=delegate", "--as=me", "--as-group=x", "--as-uid=7")
	cfg, err := f.OwnConfig("check")
	if err != nil {
		t.Fatal(err)
	}
	if as := cfg.Impersonate; as.UserName != "deputy" || len(as.Groups) != 0 || as.UID != "" || cfg.Host != "https://b" {
		t.Errorf("got the identity %+v at %s", as, cfg.Host)
	}
	if cfg, err = f.RESTConfig("check"); err != nil || cfg.Impersonate.UserName != "me" {
		t.Errorf("got %v, %v; want that of --as", cfg, err)
	}
}

// Flags of the command stay what they are, but its --kubeconfig counts.
func TestFlagsOfTheCommandStay(t *testing.T) {
	t.Parallel()
	var namespaces []string
	f := parsed(t, func(flags *pflag.FlagSet) {
		flags.String("kubeconfig", "", "")
		flags.StringSliceVar(&namespaces, "namespace", nil, "")
	}, "--namespace=a,b", "--context=two")
	if cfg, err := f.RESTConfig("check"); err != nil || cfg.Host != "https://b" {
		t.Errorf("got %v, %v; want that of the context two", cfg, err)
	}
	if namespace, err := f.Namespace(); namespace != "shop" || err != nil || !slices.Equal(namespaces, []string{"a", "b"}) {
		t.Errorf("got the namespace %s, %v, and %v for the command", namespace, err, namespaces)
	}
}

// The kubeconfig of a config file counts if no flag names one.
func TestDefault(t *testing.T) {
	t.Parallel()
	given, none := parsed(t, noFlags), kubectlflags.New()
	none.Add(pflag.NewFlagSet("test", pflag.ContinueOnError))
	for _, f := range []*kubectlflags.Flags{given, none} {
		f.Default("/of/the/file")
	}
	if path := given.Source().Path; path == "/of/the/file" {
		t.Errorf("the path is %s, although a flag names another one", path)
	}
	if path := none.Source().Path; path != "/of/the/file" {
		t.Errorf("the path is %s", path)
	}
}

func TestServiceAccount(t *testing.T) {
	t.Parallel()
	for as, want := range map[string]string{
		"system:serviceaccount:dns:publisher": "dns/publisher",
		"":                                    "", "me": "", "system:serviceaccount:dns": "", "system:serviceaccount:dns:": "",
	} {
		namespace, name, ok := parsed(t, noFlags, "--as="+as).ServiceAccount()
		if got := namespace + "/" + name; ok != (want != "") || (ok && got != want) {
			t.Errorf("--as=%s: got %s, %v; want %q", as, got, ok, want)
		}
	}
}
