package settings

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/dns/configure"
)

// Print returns a config as a config file, with all effective defaults. Secrets, and user and
// password in a URL, are replaced by stars.
func Print(c Config) (string, error) {
	file := &yaml.Node{Kind: yaml.MappingNode}
	put(file, []string{"apiVersion"}, scalar("!!str", APIVersion))
	put(file, []string{"kind"}, scalar("!!str", Kind))
	for _, s := range c.Settings() {
		value, err := nodeOf(s.Value, &c)
		if err != nil {
			return "", fmt.Errorf("print %s: %w", s.Path, err)
		}
		if value != nil {
			put(file, strings.Split(s.Path, "."), value)
		}
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return "", fmt.Errorf("print the config: %w", err)
	}
	return b.String(), nil
}

// put sets a field of a mapping, and creates the mappings on the path.
func put(mapping *yaml.Node, path []string, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == path[0] {
			put(mapping.Content[i+1], path[1:], value)
			return
		}
	}
	if len(path) > 1 {
		inner := &yaml.Node{Kind: yaml.MappingNode}
		put(inner, path[1:], value)
		value = inner
	}
	mapping.Content = append(mapping.Content, scalar("!!str", path[0]), value)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// nodeOf returns a value in the form of the config file; nil for one that is left out.
func nodeOf(v settingValue, c *Config) (*yaml.Node, error) {
	switch v := v.(type) {
	case *listValue:
		return sequence(*v.target), nil
	case jsonValue:
		if v.String() == "" {
			return nil, nil
		}
		var document yaml.Node
		if err := yaml.Unmarshal([]byte(v.String()), &document); err != nil {
			return nil, err
		}
		return document.Content[0], nil
	case *publishersValue:
		list := &yaml.Node{Kind: yaml.SequenceNode}
		for _, p := range c.DNS.Publishers {
			list.Content = append(list.Content, publisherNode(p))
		}
		return list, nil
	default:
		return scalar(tagOf(v.Type()), configure.Masked(v.String())), nil
	}
}

func sequence(values []string) *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
	for _, v := range values {
		list.Content = append(list.Content, scalar("!!str", v))
	}
	return list
}

// first are the most important fields of a publisher.
var first = []string{"source", "provider", "policy", "registry", "txt-owner-id"}

// publisherNode returns a publisher: its name, the most important fields, and the rest by name.
func publisherNode(p *configure.Options) *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	if p.Name != "" {
		put(node, []string{"name"}, scalar("!!str", p.Name))
	}
	fields := slices.DeleteFunc(p.Fields(), func(f configure.Field) bool { return slices.Contains(PerProcess, f.Name) })
	rank := func(f configure.Field) int {
		if i := slices.Index(first, f.Name); i >= 0 {
			return i
		}
		return len(first)
	}
	slices.SortStableFunc(fields, func(a, b configure.Field) int { return rank(a) - rank(b) })
	for _, f := range fields {
		value := sequence(f.Values)
		if !f.List {
			value = scalar(tagOf(f.Value.Type()), f.Values[0])
		}
		put(node, []string{f.Name}, value)
	}
	return node
}

// tagOf returns the YAML type of a flag.
func tagOf(flagType string) string {
	switch flagType {
	case "bool":
		return "!!bool"
	case "int", "int64":
		return "!!int"
	case "float", "float64":
		return "!!float"
	default:
		return "!!str"
	}
}
