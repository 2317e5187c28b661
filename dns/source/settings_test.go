package source_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dns/source"
)

// settings returns the settings for flags.
func settings(flags ...string) (source.Settings, error) {
	options := source.NewOptions()
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	options.Flags(set)
	if err := set.Parse(flags); err != nil {
		return source.Settings{}, err
	}
	return options.Settings()
}

func TestSettings(t *testing.T) {
	t.Parallel()
	s, err := settings()
	if err != nil {
		t.Fatal(err)
	}
	if !s.ExcludeUnschedulable || s.ExposeInternalIPv6 || s.Templates != nil || s.Annotations != nil || s.Labels != nil || len(s.Prefixes) != 2 {
		t.Errorf("the defaults are %+v", s)
	}
	s, err = settings("--namespace=a", "--annotation-prefix=x.example/", "--compatibility=mate", "--expose-internal-ipv6",
		"--exclude-unschedulable=false", "--fqdn-template={{.Name}}", "--ignore-hostname-annotation", "--label-filter=a=b", "--annotation-filter=c")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Namespaces, []string{"a"}) || len(s.Prefixes) != 1 || s.Prefixes[0] != "x.example/" || s.Compatibility != source.Mate || s.ExcludeUnschedulable ||
		!s.ExposeInternalIPv6 || !s.IgnoreHostnameAnnotation || !s.Templates.HasNames() || s.Annotations.String() != "c" || s.Labels.String() != "a=b" {
		t.Errorf("the settings are %+v", s)
	}
}

// TestSettingsErrors covers the rules of spec/dns.md §5.4 for sources.
func TestSettingsErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flags []string
		want  []string
	}{
		{[]string{"--annotation-filter=a in b"}, []string{"--annotation-filter"}},
		{[]string{"--label-filter=a in ("}, []string{"--label-filter"}},
		{[]string{"--annotation-prefix=a.example"}, []string{"--annotation-prefix", "slash"}},
		{[]string{"--annotation-prefix="}, []string{"--annotation-prefix", "slash"}},
		{[]string{"--annotation-prefix=/"}, []string{"--annotation-prefix"}},
		{[]string{"--compatibility=bind"}, []string{"--compatibility", "mate"}},
		{[]string{"--ignore-hostname-annotation"}, []string{"--ignore-hostname-annotation", "--fqdn-template"}},
		{[]string{"--fqdn-template={{.Name"}, []string{"--fqdn-template[0]"}},
		{[]string{"--fqdn-template=a", "--fqdn-template={{nosuch}}"}, []string{"--fqdn-template[1]", "nosuch"}},
		{[]string{`--target-template={{define "a"}}x{{end}}`, `--target-template={{define "a"}}y{{end}}`}, []string{"--target-template[1]", "multiple definition"}},
		{[]string{"--fqdn-target-template={{end}}"}, []string{"--fqdn-target-template[0]"}},
		{[]string{"--namespace=Shop"}, []string{`--namespace "Shop"`, "lower-case"}},
		{[]string{"--namespace=shop,team_a", "--namespace=" + strings.Repeat("a", 64)}, []string{`--namespace "team_a"`, `--namespace "` + strings.Repeat("a", 64)}},
		{[]string{"--namespace=a.b"}, []string{`--namespace "a.b"`}},
		{[]string{"--namespace=shop,"}, []string{"--namespace: one of several names is empty", "leave it out"}},
		{[]string{"--namespace=", "--namespace=shop"}, []string{"--namespace: one of several names is empty"}},
		{[]string{"--namespace=" + names(101)}, []string{"--namespace: 101 names; name at most 100", "all namespaces"}},
		{[]string{"--label-filter=(", "--compatibility=x", "--fqdn-template={{"}, []string{"--label-filter", "--compatibility", "--fqdn-template"}},
	}
	for _, test := range tests {
		_, err := settings(test.flags...)
		if err == nil {
			t.Errorf("%q: no error", test.flags)
			continue
		}
		for _, want := range test.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%q: the error %q doesn't say %q", test.flags, err, want)
			}
		}
	}
}

// names returns n names separated by commas.
func names(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprint("team-", i)
	}
	return strings.Join(all, ",")
}

// TestNamespaces shows that namespaces may be in one list or in several, and repeated.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ flags, want []string }{
		{nil, nil},
		{[]string{"--namespace="}, nil},
		{[]string{"--namespace=", "--namespace="}, nil},
		{[]string{"--namespace=shop"}, []string{"shop"}},
		{[]string{"--namespace=shop,pay"}, []string{"shop", "pay"}},
		{[]string{"--namespace=shop, pay", "--namespace", "team-1"}, []string{"shop", "pay", "team-1"}},
		{[]string{"--namespace=shop\npay"}, []string{"shop", "pay"}},
		{[]string{"--namespace=shop,pay", "--namespace=shop"}, []string{"shop", "pay"}},
		{[]string{"--namespace=" + names(100), "--namespace=team-7"}, strings.Split(names(100), ",")},
	} {
		s, err := settings(test.flags...)
		if err != nil {
			t.Errorf("%q: %v", test.flags, err)
		}
		if diff := cmp.Diff(test.want, s.Namespaces); diff != "" {
			t.Errorf("%q (-want +got):\n%s", test.flags, diff)
		}
	}
}

func TestSelects(t *testing.T) {
	t.Parallel()
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "a", Labels: map[string]string{"app": "shop"}, Annotations: map[string]string{"zone": "public"},
	}}
	tests := []struct {
		name       string
		flags      []string
		controller map[string]string
		want       bool
	}{
		{name: "no filter", want: true},
		{name: "case 138: namespace", flags: []string{"--namespace=a"}, want: true},
		{name: "case 138: another namespace", flags: []string{"--namespace=b"}},
		{name: "one of several namespaces", flags: []string{"--namespace=b,a"}, want: true},
		{name: "none of several namespaces", flags: []string{"--namespace=b,c"}},
		{name: "all namespaces", flags: []string{"--namespace="}, want: true},
		{name: "case 139: equality", flags: []string{"--annotation-filter=zone=public"}, want: true},
		{name: "case 139: expression", flags: []string{"--annotation-filter=zone in (private, public),!x"}, want: true},
		{name: "case 139: no match", flags: []string{"--annotation-filter=zone notin (private, public)"}},
		{name: "case 139: label", flags: []string{"--label-filter=app"}, want: true},
		{name: "case 139: no such label", flags: []string{"--label-filter=!app"}},
		{name: "case 137: ours", controller: map[string]string{"external-dns.kubernetes.io/controller": "dns-controller"}, want: true},
		{name: "case 137: another", controller: map[string]string{"external-dns.alpha.kubernetes.io/controller": "other"}},
		{name: "case 137: empty", controller: map[string]string{"external-dns.kubernetes.io/controller": ""}},
		{name: "the first prefix counts", want: true, controller: map[string]string{
			"external-dns.kubernetes.io/controller": "dns-controller", "external-dns.alpha.kubernetes.io/controller": "other",
		}},
		{name: "another prefix", flags: []string{"--annotation-prefix=x.example/"}, want: true, controller: map[string]string{"external-dns.kubernetes.io/controller": "other"}},
	}
	for _, test := range tests {
		s, err := settings(test.flags...)
		if err != nil {
			t.Fatal(err)
		}
		obj := object.DeepCopy()
		for key, value := range test.controller {
			obj.Annotations[key] = value
		}
		if got := s.Selects(obj); got != test.want {
			t.Errorf("%s: Selects is %v, want %v", test.name, got, test.want)
		}
	}
}
