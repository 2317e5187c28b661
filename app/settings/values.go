package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

type textValue struct{ target *string }

func (v textValue) String() string     { return *v.target }
func (v textValue) Type() string       { return "string" }
func (v textValue) Set(s string) error { *v.target = s; return nil }

func (v textValue) decode(n *yaml.Node) error {
	switch {
	case n.ShortTag() == "!!str":
		return v.Set(n.Value)
	case n.Kind != yaml.ScalarNode || n.ShortTag() == "!!null":
		return fmt.Errorf("must be a string, not %s", describeNode(n))
	default:
		return fmt.Errorf("must be a string, not %s: put quotes around it", describeNode(n))
	}
}

type boolValue struct{ target *bool }

func (v boolValue) String() string { return strconv.FormatBool(*v.target) }
func (v boolValue) Type() string   { return "bool" }

func (v boolValue) Set(s string) error {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return errors.New("must be true or false")
	}
	*v.target = b
	return nil
}

func (v boolValue) decode(n *yaml.Node) error {
	if n.ShortTag() != "!!bool" {
		return fmt.Errorf("must be true or false, not %s", describeNode(n))
	}
	return v.Set(strings.ToLower(n.Value))
}

type intValue struct{ target *int }

func (v intValue) String() string { return strconv.Itoa(*v.target) }
func (v intValue) Type() string   { return "int" }

func (v intValue) Set(s string) error {
	i, err := strconv.ParseInt(s, 0, strconv.IntSize)
	if err != nil {
		return errors.New("must be a whole number")
	}
	*v.target = int(i)
	return nil
}

func (v intValue) decode(n *yaml.Node) error {
	if n.ShortTag() != "!!int" {
		return fmt.Errorf("must be a whole number, not %s", describeNode(n))
	}
	return v.Set(n.Value)
}

type floatValue struct{ target *float64 }

func (v floatValue) String() string { return strconv.FormatFloat(*v.target, 'g', -1, 64) }
func (v floatValue) Type() string   { return "float" }

func (v floatValue) Set(s string) error {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return errors.New("must be a number")
	}
	*v.target = f
	return nil
}

func (v floatValue) decode(n *yaml.Node) error {
	if tag := n.ShortTag(); tag != "!!int" && tag != "!!float" || v.Set(n.Value) != nil {
		return fmt.Errorf("must be a number, not %s", describeNode(n))
	}
	return nil
}

type durationValue struct{ target *time.Duration }

func (v durationValue) String() string { return v.target.String() }
func (v durationValue) Type() string   { return "duration" }

func (v durationValue) Set(s string) error {
	d, err := time.ParseDuration(s)
	if err != nil {
		return errors.New("must be a duration with its unit, such as 10s or 1m30s")
	}
	*v.target = d
	return nil
}

func (v durationValue) decode(n *yaml.Node) error {
	if n.ShortTag() != "!!str" || v.Set(n.Value) != nil {
		return fmt.Errorf("must be a duration with its unit, such as 10s or 1m30s, not %s", describeNode(n))
	}
	return nil
}

// listValue is a list of names, separated by commas on the command line. If the flag is repeated,
// the lists are joined.
type listValue struct {
	target *[]string
	// given is true after the default was replaced.
	given bool
}

func (v *listValue) String() string { return strings.Join(*v.target, ",") }
func (v *listValue) Type() string   { return "strings" }

func (v *listValue) Set(s string) error {
	if !v.given {
		*v.target, v.given = nil, true
	}
	for name := range strings.SplitSeq(s, ",") {
		if name = strings.TrimSpace(name); name != "" {
			*v.target = append(*v.target, name)
		}
	}
	return nil
}

func (v *listValue) decode(n *yaml.Node) error {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var names []string
	for _, item := range items {
		if item.ShortTag() != "!!str" {
			return fmt.Errorf("must be names, as a list or a string, not %s", describeNode(item))
		}
		names = append(names, item.Value)
	}
	return v.Set(strings.Join(names, ","))
}

// portsValue is a list of ports, as text for catalog.ParsePortList. In a config file it may also be
// a YAML list of ports and ranges.
type portsValue struct{ textValue }

func (v portsValue) decode(n *yaml.Node) error {
	items := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		items = n.Content
	}
	var ports []string
	for _, item := range items {
		if item.ShortTag() != "!!str" && item.ShortTag() != "!!int" {
			return fmt.Errorf("must be ports and ranges such as 25,4000-4100, as a string or a list, not %s", describeNode(item))
		}
		ports = append(ports, item.Value)
	}
	return v.Set(strings.Join(ports, ","))
}

// jsonValue is a JSON object. In a config file it is a mapping, possibly in JSON syntax.
type jsonValue struct{ textValue }

func (v jsonValue) decode(n *yaml.Node) error {
	var object map[string]any
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("must be a mapping, not %s", describeNode(n))
	}
	if err := n.Decode(&object); err != nil {
		return fmt.Errorf("must be a mapping that JSON can express: %w", err)
	}
	text, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("must be a mapping that JSON can express: %w", err)
	}
	return v.Set(string(text))
}

// describeNode describes a node for an error.
func describeNode(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.ShortTag() == "!!null":
		return "nothing"
	case n.ShortTag() == "!!str":
		return strconv.Quote(n.Value)
	default:
		return n.Value
	}
}

// quoteUnlessPlain quotes a value that would be hard to recognise in a sentence.
func quoteUnlessPlain(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n") {
		return strconv.Quote(s)
	}
	return s
}
