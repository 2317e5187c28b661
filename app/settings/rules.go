package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/dns/tenancy"
)

// rulesField is the field of a publisher whose items may be mappings.
const rulesField = "namespace-domains"

// setRule adds a rule that is a mapping.
func setRule(flags *pflag.FlagSet, n *yaml.Node) error {
	var r tenancy.Rule
	given := 0
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, resolveAlias(n.Content[i+1])
		var err error
		switch key {
		case "domains":
			err = value.Decode(&r.Domains)
		case "namespace":
			err, given = value.Decode(&r.Namespace), given+1
		case "selector":
			err, given = value.Decode(&r.Selector), given+1
		case "all":
			err, given = value.Decode(&r.All), given+1
		case "clusterScoped":
			err, given = value.Decode(&r.ClusterScoped), given+1
		default:
			return fmt.Errorf("unknown field %s of a rule: use namespace, selector, all or clusterScoped, and domains", key)
		}
		if err != nil {
			return fmt.Errorf("the field %s of a rule is %s: give %s", key, describeNode(value), ruleFields[key])
		}
	}
	switch {
	case given != 1:
		return errors.New("a rule has to say who may publish: give one of namespace, selector, all: true and clusterScoped: true")
	case len(r.Domains) == 0:
		return errors.New("a rule has no domains: give a list of them")
	case slices.ContainsFunc(r.Domains, func(d string) bool { return strings.Contains(d, ",") }):
		return errors.New("a domain of a rule has a comma: give a list of domains")
	}
	return flags.Set(rulesField, r.String())
}

// ruleFields describes the values of a rule's fields.
var ruleFields = map[string]string{
	"domains": "a list of domains", "namespace": "the name of a namespace", "selector": "a label selector such as team=a", "all": "true", "clusterScoped": "true",
}

// ruleSchema returns the schema of a rule: the text of the flag, or a mapping.
func ruleSchema() object {
	text := object{"type": "string"}
	return object{"anyOf": []any{text, object{
		"type": "object", "additionalProperties": false, "required": []string{"domains"},
		"properties": object{
			"domains":   object{"type": "array", "minItems": 1, "items": text, "description": "domains that may be published, with all names below them"},
			"namespace": object{"type": "string", "description": "a namespace"}, "selector": object{"type": "string", "description": "a label selector for namespaces"},
			"all": object{"type": "boolean", "description": "every namespace"}, "clusterScoped": object{"type": "boolean", "description": "objects without a namespace"},
		},
	}}}
}
