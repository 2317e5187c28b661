package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/signpostd/signpost/internal/flagreason"
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

// scalarValue is a truth value, a number or a duration: one word of a flag, and a scalar of YAML.
type scalarValue[T any] struct {
	target *T
	*scalarKind[T]
}

// scalarKind is what values of one type have in common.
type scalarKind[T any] struct {
	// name is that of the type in help, and for [flagreason.Wanted].
	name string
	// tags are the types of YAML, and schema is that of JSON Schema.
	tags   []string
	schema object
	parse  func(string) (T, error)
}

var (
	boolKind = &scalarKind[bool]{name: "bool", tags: []string{"!!bool"}, schema: object{"type": "boolean"}, parse: strconv.ParseBool}
	intKind  = &scalarKind[int]{name: "int", tags: []string{"!!int"}, schema: object{"type": "integer"}, parse: func(s string) (int, error) {
		i, err := strconv.ParseInt(s, 0, strconv.IntSize)
		return int(i), err
	}}
	floatKind = &scalarKind[float64]{name: "float", tags: []string{"!!int", "!!float"}, schema: object{"type": "number"}, parse: func(s string) (float64, error) {
		return strconv.ParseFloat(s, 64)
	}}
	durationKind = &scalarKind[time.Duration]{name: "duration", tags: []string{"!!str"}, schema: object{"type": "string", "pattern": durationPattern}, parse: time.ParseDuration}
)

func boolValue(target *bool) scalarValue[bool]        { return scalarValue[bool]{target, boolKind} }
func intValue(target *int) scalarValue[int]           { return scalarValue[int]{target, intKind} }
func floatValue(target *float64) scalarValue[float64] { return scalarValue[float64]{target, floatKind} }

func durationValue(target *time.Duration) scalarValue[time.Duration] {
	return scalarValue[time.Duration]{target, durationKind}
}

func (v scalarValue[T]) String() string { return fmt.Sprint(*v.target) }
func (v scalarValue[T]) Type() string   { return v.name }

func (v scalarValue[T]) Set(s string) error {
	value, err := v.parse(s)
	if err != nil {
		return errors.New(flagreason.Wanted(v.name))
	}
	*v.target = value
	return nil
}

func (v scalarValue[T]) decode(n *yaml.Node) error {
	if !slices.Contains(v.tags, n.ShortTag()) || v.Set(n.Value) != nil {
		return fmt.Errorf("%s, not %s", flagreason.Wanted(v.name), describeNode(n))
	}
	return nil
}

// describeSchema returns the JSON Schema with the value as the default.
func (v scalarValue[T]) describeSchema() object {
	value := any(*v.target)
	if d, is := value.(time.Duration); is {
		value = d.String()
	}
	return object{"anyOf": []any{v.schema, variableRef}, "default": value}
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
