package sourcetest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

func TestMain(m *testing.M) { sourcetest.Main(m, "") }

func TestScenarios(t *testing.T) { sourcetest.Run(t, (&toy{}).plugin()) }

func TestRealAPIServer(t *testing.T) { sourcetest.RunReal(t, (&toy{}).plugin(), "toy") }

// verdict collects failures, without making the test fail that runs it.
type verdict struct {
	testing.TB
	errs []string
}

func (v *verdict) Errorf(format string, args ...any) {
	v.errs = append(v.errs, fmt.Sprintf(format, args...))
}

const (
	web = `{apiVersion: v1, kind: Service, metadata: {name: web, labels: {app: web}}, spec: {externalIPs: [10.0.0.1]}}`
	own = `
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: m, annotations: {external-dns.kubernetes.io/hostname: m.example.org}}, data: {app: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: nameless}, data: {app: web}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: others, annotations: {external-dns.kubernetes.io/controller: other}}}`
)

// TestMisbehaviour: the kit finds the faults of sources.
func TestMisbehaviour(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		toy  *toy
		want string
	}{
		{name: "nothing wrong", toy: &toy{}},
		{name: "changes of a dependency aren't noticed", toy: &toy{deafToServices: true}, want: "Changed was not called with default/m"},
		{name: "no changes are noticed", toy: &toy{deafToOwn: true, deafToServices: true}, want: "Changed was not called with default/m"},
		{name: "a change doesn't name the kind", toy: &toy{nameless: true}, want: `Changed was called with the kind ""`},
		{name: "evaluation isn't repeatable", toy: &toy{forgetful: true}, want: "again gives something else"},
		{name: "deleted objects stay", toy: &toy{sticky: true}, want: "these records are left"},
		{name: "no reason for no record", toy: &toy{mute: true}, want: "default/nameless gives no record and doesn't say why"},
		{name: "no reason for what isn't selected", toy: &toy{mute: true}, want: "default/others gives no record and doesn't say why"},
		{name: "no keys", toy: &toy{unlisted: true}, want: "no Keys"},
		{name: "a key too few", toy: &toy{ghost: true}, want: "ConfigMap default/m exists, and Keys doesn't have it"},
		{name: "a key too many", toy: &toy{ghost: true}, want: "Keys has ConfigMap ghost, which doesn't exist"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			v := &verdict{TB: t}
			s := sourcetest.MustOpen(v, test.toy.plugin(), web+own)
			s.Apply(strings.ReplaceAll(web, "10.0.0.1", "10.0.0.2"))
			s.End()
			got := strings.Join(v.errs, "\n")
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("the kit says %q, want %q", got, test.want)
			}
		})
	}
}

// lottery is a source without objects.
type lottery struct {
	source.NoFlags
	source.NoObjects
	err error
}

func (l lottery) Open(source.Input) (source.Source, error) {
	return source.Source{Poll: func(context.Context) ([]*dns.RecordSet, error) {
		return source.Origin{TTL: 3, SetIdentifier: "s"}.Records("win.example.org", []string{"192.0.2.1"}), l.err
	}}, nil
}

// TestPoll: a source without objects returns everything at once.
func TestPoll(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		"win.example.org A 192.0.2.1 ttl=3 set=s\n":              nil,
		"win.example.org A 192.0.2.1 ttl=3 set=s\nerror empty\n": errors.New("empty"),
	} {
		plugin := source.Plugin{Name: "lottery", New: func() source.Config { return lottery{err: err} }}
		s, err := sourcetest.Open(t, plugin)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Records(); got != want {
			t.Errorf("records are %q, want %q", got, want)
		}
	}
}

// TestOpenErrors: errors in flags, or in settings of the source, are returned.
func TestOpenErrors(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{"--nosuch": "nosuch", "--label-filter=(": "label-filter", "--refuse=never": "never"} {
		if _, err := sourcetest.Open(t, (&toy{}).plugin(), flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want one that says %q", flag, err, want)
		}
	}
}
