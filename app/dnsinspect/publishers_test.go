package dnsinspect_test

import (
	"strings"
	"testing"

	"github.com/signpostd/signpost/app/dnsinspect"
	"github.com/signpostd/signpost/app/inspect"
)

const splitObjects = `
apiVersion: v1
kind: Service
metadata: {name: web, annotations: {net: public, external-dns.alpha.kubernetes.io/hostname: web.example.test}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.1, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.1}]}}
---
apiVersion: v1
kind: Service
metadata: {name: web-int, annotations: {net: private, external-dns.alpha.kubernetes.io/hostname: "web.example.test,int.example.test"}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.2, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 10.1.1.1}]}}
---
apiVersion: v1
kind: Service
metadata: {name: both, annotations: {net: both, external-dns.alpha.kubernetes.io/hostname: only.shop.example.test}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.3, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.2}]}}
---
apiVersion: v1
kind: Service
metadata: {name: lost, annotations: {external-dns.alpha.kubernetes.io/hostname: lost.example.test}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.4, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.3}]}}
---
apiVersion: v1
kind: Service
metadata: {name: silent}
spec: {type: LoadBalancer, clusterIP: 10.0.0.5, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.4}]}}
---
apiVersion: v1
kind: Service
metadata: {name: nozone, annotations: {net: both, external-dns.alpha.kubernetes.io/hostname: www.elsewhere.test}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.6, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.5}]}}
---
apiVersion: v1
kind: Service
metadata: {name: other, annotations: {net: both, external-dns.alpha.kubernetes.io/hostname: other.example.test, external-dns.alpha.kubernetes.io/controller: externel-dns}}
spec: {type: LoadBalancer, clusterIP: 10.0.0.7, ports: [{port: 80}]}
status: {loadBalancer: {ingress: [{ip: 192.0.2.6}]}}
`

// With two publishers over different servers, a name that one of them excludes is wrong only if the
// other one doesn't publish it either (split-horizon V2 to V4 and V7, first-hour H1).
func TestSeveralPublishers(t *testing.T) {
	public := startScenario(t, "", "", []string{"--annotation-filter=net in (public,both)", "--source=ingress", "--ingress-class=nginx"})
	private := startScenario(t, "", "", []string{"--annotation-filter=net in (private,both)", "--exclude-domains=shop.example.test"})
	public.apply(`{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: class, annotations: {net: public}}, spec: {ingressClassName: traefik, rules: [{host: class.example.test}]}}`)
	for _, s := range []*scenario{public, private} {
		s.apply(splitObjects)
		s.run()
		s.settle("")
	}
	publishers := []dnsinspect.Publisher{
		{Name: "public", Publisher: public.opened.Publisher, Servers: public.opened.Servers, Kinds: public.opened.Kinds()},
		{Name: "private", Publisher: private.opened.Publisher, Servers: private.opened.Servers, Kinds: private.opened.Kinds()},
	}
	role := dnsinspect.New(publishers, func() (bool, string) { return true, "" })
	object := func(kind, name string) inspect.Query {
		return inspect.Query{Object: &inspect.ObjectRef{Kind: kind, Namespace: "default", Name: name}}
	}
	service := func(name string) inspect.Query {
		return inspect.Query{Service: &inspect.ServiceQuery{Namespace: "default", Name: name}}
	}
	for name, test := range map[string]struct {
		query   inspect.Query
		verdict inspect.Verdict
		summary string
	}{
		"V7: a name of both":                    {inspect.Query{Name: "web.example.test"}, inspect.VerdictOK, "web.example.test is published by the publishers private and public"},
		"V4: a name of one":                     {inspect.Query{Name: "int.example.test"}, inspect.VerdictOK, "int.example.test is published by the publisher private"},
		"V4: a name that the other leaves out":  {inspect.Query{Name: "only.shop.example.test"}, inspect.VerdictOK, "only.shop.example.test is published by the publisher public"},
		"V4: its object":                        {service("both"), inspect.VerdictOK, "only.shop.example.test is published by the publisher public"},
		"V2: a name that no publisher takes":    {inspect.Query{Name: "lost.example.test"}, inspect.VerdictWrong, "Service default/lost asks for lost.example.test, and is left out: --annotation-filter"},
		"V3: its object":                        {service("lost"), inspect.VerdictWrong, "Service default/lost asks for lost.example.test, and is left out: --annotation-filter"},
		"V2: a class that no publisher takes":   {inspect.Query{Name: "class.example.test"}, inspect.VerdictWrong, "Ingress default/class asks for class.example.test, and is left out: --ingress-class has only nginx"},
		"V3: its Ingress":                       {object("Ingress", "class"), inspect.VerdictWrong, "--ingress-class has only nginx"},
		"V3: a name without a zone":             {service("nozone"), inspect.VerdictWrong, "the name is in no zone of the provider"},
		"an object that asks for no name":       {service("silent"), inspect.VerdictOK, ""},
		"a controller that nobody knows":        {service("other"), inspect.VerdictOK, `the annotation controller is "externel-dns"`},
		"H1: a Pod":                             {object("Pod", "web-1"), inspect.VerdictOK, "DNS publishes nothing for objects of the kind Pod (--source=service, --source=ingress)"},
		"a kind that nothing knows":             {object("Foo", "bar"), inspect.VerdictUnknown, "Signpost knows no kind Foo"},
		"H1: an Ingress that does not exist":    {object("Ingress", "gone"), inspect.VerdictWrong, "no source of the publishers has Ingress default/gone"},
		"H1: a ServiceProfile":                  {object("ServiceProfile", "web.default.svc.cluster.local"), inspect.VerdictOK, "DNS publishes nothing"},
		"a Service of another namespace":        {inspect.Query{Service: &inspect.ServiceQuery{Namespace: "team", Name: "both"}}, inspect.VerdictWrong, "no source of the publishers has Service team/both: there is one of that name in another namespace: default"},
		"a name that nobody asks for of either": {inspect.Query{Name: "nobody.example.test"}, inspect.VerdictWrong, "no object asks for nobody.example.test"},
	} {
		e := inspect.Conclude(test.query.String(), role.Explain(t.Context(), test.query))
		if e.Verdict != test.verdict || !strings.Contains(e.Summary, test.summary) {
			t.Errorf("%s: %s: %s\nwant %s: %s\n%+v", name, e.Verdict, e.Summary, test.verdict, test.summary, e.Steps)
		}
	}

	// Other roles may serve a Service of a namespace that DNS doesn't read.
	for i := range publishers {
		publishers[i].Namespaces = []string{"default"}
	}
	unread := inspect.Query{Service: &inspect.ServiceQuery{Namespace: "team", Name: "both"}}
	role = dnsinspect.New(publishers, func() (bool, string) { return true, "" })
	if e := inspect.Conclude("", role.Explain(t.Context(), unread)); e.Verdict != inspect.VerdictOK || e.Summary != "DNS reads no objects of the namespace team (--namespace)" {
		t.Errorf("of a namespace that isn't read: %+v", e)
	}
}
