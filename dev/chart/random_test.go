package chart

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/testkit/kubetest"
	"github.com/signpostd/signpost/testkit/longtest"
)

var (
	seed   = flag.Uint64("chart.seed", 1, "seed of the first random values")
	random = flag.Int("chart.random", 100, "how many random values are tried; -short tries a fifth")
)

// What the schema allows is rendered, and the API server accepts it.
func TestRandomValues(t *testing.T) {
	text, err := os.ReadFile(chartDir + "/values.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	cluster := kubetest.Start(t)
	namespace := restricted(t, cluster)
	for n := range longtest.Rounds(*random) {
		g := &generator{Rand: rand.New(rand.NewPCG(*seed+uint64(n), 0)), definitions: root["$defs"].(map[string]any)}
		values := g.values(root)
		objects, err := render(t, values, namespace)
		if err != nil {
			t.Fatalf("-chart.seed=%d: %v\n%s", *seed+uint64(n), err, asJSON(values))
		}
		accepted(t, cluster, objects, namespace)
		if t.Failed() {
			t.Fatalf("-chart.seed=%d -chart.random=1:\n%s", *seed+uint64(n), asJSON(values))
		}
	}
}

func asJSON(values any) string {
	text, err := json.MarshalIndent(values, "", "  ")
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// generator makes values that a schema allows.
type generator struct {
	*rand.Rand
	definitions map[string]any
}

// examples are values where the schema leaves the shape to Kubernetes, or texts that mean something
// there.
var examples = map[string][]any{
	"global":                    {map[string]any{}},
	"repository":                {"registry.example/signpost", "localhost:5000/a/b"},
	"tag":                       {"", "v1.2.3", "1.0"},
	"digest":                    {"", "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
	"imagePullSecrets":          {list(), list(object("name", "registry"))},
	"nameOverride":              {"", "dns"},
	"fullnameOverride":          {"", "names"},
	"env":                       {list(), list(object("name", "A", "value", "b"))},
	"envFrom":                   {list(), list(object("secretRef", object("name", "cloud")))},
	"extraVolumes":              {list(), list(object("name", "tmp", "emptyDir", object()))},
	"extraVolumeMounts":         {list()},
	"extraArgs":                 {list()},
	"extraRules":                {list(), list(object("apiGroups", list("example.com"), "resources", list("things"), "verbs", list("list", "watch")))},
	"resources":                 {object(), object("limits", object("memory", "1Gi"), "requests", object("cpu", "10m"))},
	"annotations":               {object(), object("example.com/a", "b c")},
	"podAnnotations":            {object(), object("example.com/a", "true")},
	"podLabels":                 {object(), object("team", "dns")},
	"labels":                    {object(), object("release", "prometheus")},
	"nodeSelector":              {object(), object("kubernetes.io/os", "linux")},
	"tolerations":               {list(), list(object("operator", "Exists"))},
	"affinity":                  {object()},
	"podSecurityContext":        {object("runAsNonRoot", true, "seccompProfile", object("type", "RuntimeDefault")), object("runAsNonRoot", true, "runAsUser", 1000670000, "seccompProfile", object("type", "RuntimeDefault"))},
	"securityContext":           {object("allowPrivilegeEscalation", false, "readOnlyRootFilesystem", true, "capabilities", object("drop", list("ALL")))},
	"lifecycle":                 {object(), object("preStop", object("sleep", object("seconds", 3)))},
	"hostNetwork":               {false}, // the restricted standard refuses true
	"serviceMonitor":            {object(), object("enabled", false, "interval", "1m")},
	"priorityClassName":         {"", "system-cluster-critical"},
	"topologySpreadConstraints": {list(), list(object("maxSkew", 1, "topologyKey", "zone", "whenUnsatisfiable", "DoNotSchedule"))},
	"minAvailable":              {1, "50%"},
	"destinationFrom":           {list(), list(object("podSelector", object()))},
	"auth":                      {"none"},
	"leaderElect":               {true}, // the chart refuses false
	"authorities":               {list(), list("a.example")},
	"namespaces":                {list(), list("default")},
	"tlsSecret":                 {"", "xds-tls"},
	"xdsFrom":                   {list(), list(object("podSelector", object()))},
	"inspectFrom":               {list(), list(object("podSelector", object()))},
	"metricsFrom":               {list(), list(object("namespaceSelector", object()))},
	"egress":                    {list(), list(object("ports", list(object("port", 443))))},
	"interval":                  {"30s", "1m"},
	"names":                     {list("*"), list("endpoints", "endpointslices"), list("*", "-externalworkloads")},
	"name":                      {"public", "internal"},
	"controllerNamespace":       {"linkerd", "mesh"},
	"linkNamespace":             {"linkerd", "links"},
	"resourceNamespace":         {"leases"},
	"resourceName":              {"a-lease"},
	"namespace":                 {"shop", list("shop", "mail")},
	"crd-registry-namespace":    {"", "dns"},
	"registry":                  {"txt", "crd", "noop"},
	"secretRef":                 {object(), object("rfc2136-tsig-secret", object("name", "dns", "key", "tsig"))},
	"annotation-prefix":         {list("dns.example.com/")},
}

func list(items ...any) []any { return append([]any{}, items...) }

func object(pairs ...any) map[string]any {
	o := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		o[pairs[i].(string)] = pairs[i+1]
	}
	return o
}

// values returns values with at least one role.
func (g *generator) values(root map[string]any) map[string]any {
	values := g.object(root)
	roles := []string{"destination", "controllers", "dns"}
	roles = roles[:1+g.IntN(len(roles))]
	for i, name := range []string{"destination", "controllers", "dns"} {
		role, _ := values[name].(map[string]any)
		if role == nil {
			role = map[string]any{}
			values[name] = role
		}
		role["enabled"] = i == g.IntN(3) || slices.Contains(roles, name)
	}
	// The chart refuses an account that it doesn't make and that has no name.
	if account, _ := values["serviceAccount"].(map[string]any); account["create"] == false {
		account["name"] = "default"
	}
	if dns := values["dns"].(map[string]any); dns["enabled"] == true {
		publishers := []any{}
		for n := range 1 + g.IntN(2) {
			p := g.object(g.definitions["publisher"].(map[string]any))
			p["name"] = fmt.Sprintf("publisher-%c", 'a'+n)
			publishers = append(publishers, p)
		}
		dns["publishers"] = publishers
	}
	return values
}

// object returns an object with some of the fields of a schema, and those that are required.
func (g *generator) object(s map[string]any) map[string]any {
	made := map[string]any{}
	fields, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(required, any(name)) && g.IntN(4) != 0 {
			continue
		}
		made[name] = g.value(name, fields[name].(map[string]any))
	}
	return made
}

func (g *generator) value(name string, s map[string]any) any {
	if of, ok := examples[name]; ok {
		return of[g.IntN(len(of))]
	}
	if ref, ok := s["$ref"].(string); ok {
		return g.value(name, g.definitions[ref[len("#/$defs/"):]].(map[string]any))
	}
	if any, ok := s["anyOf"].([]any); ok {
		return g.value(name, any[0].(map[string]interface{}))
	}
	if words, ok := s["enum"].([]any); ok {
		return words[g.IntN(len(words))]
	}
	if constant, ok := s["const"]; ok {
		return constant
	}
	if given, ok := s["default"]; ok && s["type"] != "object" {
		return given
	}
	if pattern, ok := s["pattern"].(string); ok {
		if strings.Contains(pattern, "ns|us") {
			return "1m30s"
		}
		return "${A_VARIABLE}"
	}
	kind := s["type"]
	if several, ok := kind.([]any); ok {
		kind = several[0]
	}
	switch kind {
	case "boolean":
		return g.IntN(2) == 0
	case "integer", "number":
		least, _ := s["minimum"].(float64)
		return int(least) + g.IntN(3)
	case "array":
		items, _ := s["items"].(map[string]any)
		return list(g.value(name, items))
	case "object":
		return g.object(s)
	default:
		return "text"
	}
}
