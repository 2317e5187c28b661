package rbac

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// Role is a Kubernetes Role or, without a namespace, a ClusterRole.
type Role struct {
	Name, Namespace string
	// Why is its purpose; it may be empty.
	Why   string
	Rules []Rule
}

// Rule is a rule of a role: verbs for a resource, or for paths of the API server that are no resources.
type Rule struct {
	// Why is its purpose, such as the sources that need it.
	Why             []string
	Group, Resource string
	// Paths are the paths of a rule without a resource.
	Paths []string
	// Object is the only object of the rule; empty means all.
	Object string
	Verbs  []string
	// Without is the consequence of a missing right, as a clause without a full stop. If it is
	// empty, a configured feature fails.
	Without string
}

// group is the API group of roles.
const group = "rbac.authorization.k8s.io"

func (r Role) kind() string {
	if r.Namespace == "" {
		return "ClusterRole"
	}
	return "Role"
}

// Manifest returns roles in YAML.
func Manifest(roles []Role) string {
	var documents []string
	for _, r := range roles {
		documents = append(documents, r.yaml())
	}
	return strings.Join(documents, "---\n")
}

// Bindings returns a binding of each role to a service account, in YAML.
func Bindings(roles []Role, account types.NamespacedName) string {
	var documents []string
	for _, r := range roles {
		documents = append(documents, fmt.Sprintf("%sroleRef:\n  apiGroup: %s\n  kind: %s\n  name: %s\nsubjects:\n  - kind: ServiceAccount\n    name: %s\n    namespace: %s\n",
			r.head(r.kind()+"Binding"), group, r.kind(), text(r.Name), text(account.Name), text(account.Namespace)))
	}
	return strings.Join(documents, "---\n")
}

// head returns the beginning of an object with the name and namespace of a role.
func (r Role) head(kind string) string {
	head := fmt.Sprintf("apiVersion: %s/v1\nkind: %s\nmetadata:\n  name: %s\n", group, kind, text(r.Name))
	if r.Namespace != "" {
		head += "  namespace: " + text(r.Namespace) + "\n"
	}
	return head
}

func (r Role) yaml() string {
	var b strings.Builder
	if r.Why != "" {
		fmt.Fprintf(&b, "# %s\n", r.Why)
	}
	b.WriteString(r.head(r.kind()) + "rules:\n")
	for _, rule := range r.Rules {
		if len(rule.Why) > 0 {
			fmt.Fprintf(&b, "  # %s\n", strings.Join(rule.Why, ", "))
		}
		if len(rule.Paths) > 0 {
			fmt.Fprintf(&b, "  - nonResourceURLs: [%s]\n    verbs: [%s]\n", strings.Join(rule.Paths, ", "), strings.Join(rule.Verbs, ", "))
			continue
		}
		fmt.Fprintf(&b, "  - apiGroups: [%s]\n    resources: [%s]\n", text(rule.Group), text(rule.Resource))
		if rule.Object != "" {
			fmt.Fprintf(&b, "    resourceNames: [%s]\n", text(rule.Object))
		}
		fmt.Fprintf(&b, "    verbs: [%s]\n", strings.Join(rule.Verbs, ", "))
	}
	return b.String()
}

// plain matches strings that need no quotes in YAML.
var plain = regexp.MustCompile(`^[a-z][a-z0-9]*([./-][a-z0-9]+)*$`)

// text returns a string in YAML. Kinds, namespaces and names are user input.
func text(s string) string {
	switch s {
	case "true", "false", "null", "yes", "no", "on", "off", "y", "n":
		return strconv.Quote(s)
	}
	if plain.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
