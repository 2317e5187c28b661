package linkerd

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
)

// MaxMatchDepth is the deepest allowed nesting of conditions. Protobuf readers stop at one hundred nested
// messages, and a level of conditions takes up to four of them.
const MaxMatchDepth = 24

var errTooDeep = errors.New("conditions are nested too deep")

// UnmarshalJSON fills s from data. A spec of the wrong shape is no error: see the Problem field.
func (s *ServiceProfileSpec) UnmarshalJSON(data []byte) error {
	spec, err := decodeSpec(data)
	if err != nil {
		spec = ServiceProfileSpec{Problem: fmt.Sprintf("decode spec of ServiceProfile: %v", err)}
	}
	*s = spec
	return nil
}

// decodeSpec first rewrites the tree to the shape of the Go types, so that the types stay plain and the time
// is linear in the size of the tree.
func decodeSpec(data []byte) (ServiceProfileSpec, error) {
	var tree any
	if err := json.Unmarshal(data, &tree); err != nil {
		return ServiceProfileSpec{}, err
	}
	if err := straighten(tree); err != nil {
		return ServiceProfileSpec{}, err
	}
	straight, err := json.Marshal(tree)
	if err != nil {
		return ServiceProfileSpec{}, err
	}
	type plain ServiceProfileSpec
	var p plain
	err = json.Unmarshal(straight, &p)
	return ServiceProfileSpec(p), err
}

// straighten rewrites the accepted shapes of a spec in place. It leaves other shapes unchanged, and the
// decoder refuses them.
func straighten(tree any) error {
	spec, ok := tree.(map[string]any)
	if !ok {
		return nil
	}
	if ports, ok := spec["opaquePorts"]; ok {
		spec["opaquePorts"] = portTexts(ports)
	}
	for i, route := range children(spec, "routes") {
		if err := straightenRoute(route); err != nil {
			return fmt.Errorf("routes[%d]: %w", i, err)
		}
	}
	return nil
}

func straightenRoute(tree any) error {
	route, ok := tree.(map[string]any)
	if !ok {
		return nil
	}
	if err := straightenMatch(route["condition"], 1); err != nil {
		return fmt.Errorf("condition: %w", err)
	}
	for i, tree := range children(route, "responseClasses") {
		class, ok := tree.(map[string]any)
		if !ok {
			continue
		}
		if err := straightenMatch(class["condition"], 1); err != nil {
			return fmt.Errorf("responseClasses[%d].condition: %w", i, err)
		}
	}
	return nil
}

// straightenMatch replaces each "not" that is a list with the one condition that the list stands for.
func straightenMatch(tree any, depth int) error {
	if depth > MaxMatchDepth {
		return errTooDeep
	}
	match, ok := tree.(map[string]any)
	if !ok {
		return nil
	}
	if list, ok := match["not"].([]any); ok {
		match["not"] = noneOf(list)
	}
	below := slices.Concat(children(match, "all"), children(match, "any"), []any{match["not"]})
	for _, child := range below {
		if err := straightenMatch(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// noneOf returns the condition for "not" if none of list may hold; nil for an empty list. A null stays, and
// the decoder refuses it.
func noneOf(list []any) any {
	switch {
	case len(list) == 0:
		return nil
	case len(list) == 1 && list[0] != nil:
		return list[0]
	default:
		return map[string]any{"any": list}
	}
}

// portTexts returns the ports of an opaquePorts field as sorted text. Invalid ports are left out without an
// error, because nothing depends on the field.
func portTexts(field any) []string {
	var ports []string
	add := func(port any) {
		switch port := port.(type) {
		case string:
			ports = append(ports, port)
		case int64:
			ports = append(ports, fmt.Sprint(port))
		}
	}
	switch field := field.(type) {
	case []any:
		for _, port := range field {
			add(port)
		}
	case map[string]any:
		for port := range field {
			add(port)
		}
	}
	slices.Sort(ports)
	return ports
}

func children(parent map[string]any, key string) []any {
	list, _ := parent[key].([]any)
	return list
}
