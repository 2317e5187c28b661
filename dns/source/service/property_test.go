package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/signpostd/signpost/dns/source"
	"github.com/signpostd/signpost/testkit/sourcetest"
)

// draw is a source of choices.
type draw struct{ *rapid.T }

// of returns one of some texts.
func (d draw) of(what string, texts ...string) string {
	return rapid.SampledFrom(texts).Draw(d.T, what)
}

// service returns a Service with random dependencies.
func (d draw) service(name string) string {
	annotations := d.of("hostname", "P/hostname: foo.example.org", "P/hostname: foo.example.org", "P/internal-hostname: in.example.org", "") +
		d.of("target", "", "", ", P/target: 9.9.9.9") + d.of("endpoints-type", "", ", P/endpoints-type: NodeExternalIP", ", P/endpoints-type: HostIP") +
		d.of("access", "", "", ", P/access: private") + d.of("kops", "", "", ", dns.alpha.kubernetes.io/internal: kops.example.org")
	spec := d.of("type", "clusterIP: None", "clusterIP: None", "type: NodePort", "type: NodePort, externalTrafficPolicy: Local",
		"type: NodePort, externalTrafficPolicy: Local", "type: LoadBalancer, clusterIP: 10.0.0.9") +
		d.of("selector", ", selector: {app: foo}", ", selector: {app: foo, tier: a}", ", selector: {tier: a}", "")
	return strings.Replace(specified(strings.TrimPrefix(annotations, ", "), spec), "name: foo", "name: "+name, 1)
}

func (d draw) pod(name string) string {
	return withPrefix(fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata: {namespace: testing, name: %s, labels: {%s}, annotations: {%s}}\nspec: {nodeName: %s%s}\nstatus: {%s%s}\n",
		name, d.of("labels", "app: foo", "app: foo, tier: a", "tier: a", "app: bar", ""), d.of("annotations", "", "", "P/target: 8.8.8.8"),
		d.of("node", "node1", "node2", `""`), d.of("pod hostname", "", ", hostname: h1", ", hostname: h2"),
		d.of("state", isReady, isReady, isNotReady, "phase: Pending", "phase: Succeeded"), d.of("host", "", ", hostIP: 10.0.1.1", ", hostIP: 10.0.1.2")))
}

func (d draw) slice(name string) string {
	end := func() string {
		return rapid.SampledFrom([]func(string, string) string{at, notReadyAt}).Draw(d.T, "endpoint")(d.of("address", "10.1.0.1", "10.1.0.2"), d.of("pod", "a", "b", "c"))
	}
	return strings.Replace(sliceOf(name, "IPv4", end(), end()), "service-name: foo", "service-name: "+d.of("of", "foo", "bar"), 1)
}

func (d draw) node(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Node\nmetadata: {name: %s, labels: {%s}}\nspec: {unschedulable: %s}\nstatus: {addresses: [{type: %s, address: %s}]}\n",
		name, d.of("role", "", roleLabel+`: ""`), d.of("unschedulable", "false", "false", "true"),
		d.of("address type", "ExternalIP", "InternalIP"), d.of("node address", "54.10.11.1", "10.0.1.2"))
}

// object returns one of a few possible objects, with its kind and key.
func (d draw) object() (manifest, kind string, key source.Key) {
	switch kind = d.of("kind", "Service", "Pod", "Pod", "EndpointSlice.discovery.k8s.io", "Node"); kind {
	case "Service":
		key = source.Key{Namespace: "testing", Name: d.of("name", "foo", "bar")}
		return d.service(key.Name), kind, key
	case "Pod":
		key = source.Key{Namespace: "testing", Name: d.of("name", "a", "b", "c")}
		return d.pod(key.Name), kind, key
	case "Node":
		key = source.Key{Name: d.of("name", "node1", "node2")}
		return d.node(key.Name), kind, key
	default:
		key = source.Key{Namespace: "testing", Name: d.of("name", "s", "t")}
		return d.slice(key.Name), kind, key
	}
}

// TestChangedIsEnough shows that, after random changes, evaluating the objects for which Changed was called
// gives the same records as evaluating all.
func TestChangedIsEnough(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		h := draw{rt}.history()
		var failed string
		// Each history needs its own test, because the fixture ends with a test.
		t.Run("history", func(t *testing.T) { failed = h.play(t) })
		if failed != "" {
			rt.Fatal(failed)
		}
	})
}

// TestHistories repeats histories in which an evaluation was once missing.
func TestHistories(t *testing.T) {
	t.Parallel()
	local := "type: NodePort, externalTrafficPolicy: Local, selector: {app: foo}"
	pod := func(spec, hostIP string) string {
		return "\n---\napiVersion: v1\nkind: Pod\nmetadata: {namespace: testing, name: a, labels: {app: foo}}\nspec: {" + spec + "}\nstatus: {" + isReady + hostIP + "}\n"
	}
	node := "\n---\napiVersion: v1\nkind: Node\nmetadata: {name: node1}\nstatus: {addresses: [{type: InternalIP, address: 10.0.1.2}]}\n"
	for name, h := range map[string]history{
		"a Pod loses its node and is deleted between two looks": {
			begin: specified("P/hostname: foo.example.org", local) + pod("nodeName: node1", ", hostIP: 10.0.1.2") + node,
			steps: []historyStep{{apply: pod("hostname: h1", ""), kind: "Pod", delete: source.Key{Namespace: "testing", Name: "a"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if failed := h.play(t); failed != "" {
				t.Error(failed)
			}
		})
	}
}

// history is a sequence of steps with several changes each. The source is evaluated after each step.
type history struct {
	begin string
	steps []historyStep
}

type historyStep struct {
	apply string
	// kind is that of the object to delete, or empty.
	kind   string
	delete source.Key
}

func (d draw) history() history {
	type object struct {
		kind string
		key  source.Key
	}
	there := []object{{"Node", source.Key{Name: "node1"}}, {"Pod", source.Key{Namespace: "testing", Name: "a"}}}
	h := history{begin: strings.Join([]string{d.service("foo"), d.slice("s"), d.pod("a"), d.pod("b"), d.node("node1")}, "\n---\n")}
	for range 3 {
		var step historyStep
		var manifests []string
		for range rapid.IntRange(1, 4).Draw(d.T, "objects") {
			manifest, kind, key := d.object()
			manifests = append(manifests, manifest)
			if o := (object{kind, key}); !slices.Contains(there, o) {
				there = append(there, o)
			}
		}
		step.apply = strings.Join(manifests, "\n---\n")
		if i := rapid.IntRange(0, 2*len(there)).Draw(d.T, "delete"); i < len(there) {
			step.kind, step.delete = there[i].kind, there[i].key
			there = slices.Delete(there, i, i+1)
		}
		h.steps = append(h.steps, step)
	}
	return h
}

// play returns the error of a history, or "".
func (h history) play(t *testing.T) string {
	fixture := sourcetest.MustOpen(t, Plugin(), h.begin, "--compatibility=kops-dns-controller")
	known := map[source.Key]string{{Namespace: "testing", Name: "foo"}: text(source.Result{}), {Namespace: "testing", Name: "bar"}: text(source.Result{})}
	for i := 0; ; i++ {
		for line := range strings.Lines(fixture.Changed()) {
			namespace, name, _ := strings.Cut(strings.TrimSpace(line), "/")
			key := source.Key{Namespace: namespace, Name: name}
			known[key] = text(fixture.Evaluate(key))
		}
		for key, changed := range known {
			if diff := cmp.Diff(text(fixture.Evaluate(key)), changed); diff != "" {
				return fmt.Sprintf("after %d steps of %+v, %s is known as something else than it is (-is +known):\n%s", i, h, key, diff)
			}
		}
		if i == len(h.steps) {
			return ""
		}
		fixture.Apply(h.steps[i].apply)
		if h.steps[i].kind != "" {
			fixture.Delete(h.steps[i].kind, h.steps[i].delete)
		}
	}
}

func text(r source.Result) string {
	var lines []string
	for _, set := range r.Records {
		lines = append(lines, fmt.Sprintf("%+v\n", *set))
	}
	return fmt.Sprintf("%s%+v %v", lines, r.Problems, r.Err)
}
