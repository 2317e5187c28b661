package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/internal/logging"
)

// object is an object of JSON.
type object = map[string]any

const (
	// schemaDialect is the version of JSON Schema, and schemaID the ID of this schema.
	schemaDialect = "https://json-schema.org/draft/2020-12/schema"
	schemaID      = "https://signpost.dev/schemas/config/v1alpha1.json"
	// durationPattern matches the syntax of time.ParseDuration.
	durationPattern = `^[-+]?(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
)

// variableRef refers to the schema of an environment variable.
var variableRef = object{"$ref": "#/$defs/variable"}

// Schema returns the JSON Schema (draft 2020-12) of the config file, for editors and CI. It accepts
// all files that Decode accepts, except log levels in capitals. Conditions on several fields or on
// the environment, which Decode also checks, aren't in it.
func Schema() ([]byte, error) {
	c := Default()
	root := object{
		"$schema": schemaDialect, "$id": schemaID, "title": "Config of signpost run",
		"type": "object", "additionalProperties": false, "required": []string{"apiVersion", "kind"},
		"$defs": object{
			"variable":  object{"type": "string", "pattern": variable.String(), "description": "the value of an environment variable"},
			"publisher": publisherSchema(),
		},
		"properties": object{
			"apiVersion": object{"const": APIVersion, "description": "the version of the fields"},
			"kind":       object{"const": Kind},
		},
	}
	for _, part := range []Section{&c.Process, &c.Destination, &c.Controllers, &c.DNS, &c.XDS} {
		for _, s := range part.Settings() {
			describe(root, strings.Split(s.Path, "."), s)
		}
	}
	dns := root["properties"].(object)[DNSSection].(object)
	dns["required"], dns["type"] = []string{"publishers"}, "object"
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("make the schema: %w", err)
	}
	return append(text, '\n'), nil
}

// describe adds the schema of a setting to that of a mapping, and creates the mappings on the path.
// A mapping may be empty, as in "controllers:".
func describe(mapping object, path []string, s Setting) {
	properties := mapping["properties"].(object)
	if len(path) == 1 {
		properties[path[0]] = settingSchema(s)
		return
	}
	inner, ok := properties[path[0]].(object)
	if !ok {
		inner = object{"type": []string{"object", "null"}, "additionalProperties": false, "properties": object{}}
		properties[path[0]] = inner
	}
	describe(inner, path[1:], s)
}

// settingSchema returns the schema of a setting: its type, its default and its meaning.
func settingSchema(s Setting) object {
	schema := valueSchema(s)
	_, usage := pflag.UnquoteUsage(&pflag.Flag{Usage: s.Usage, Value: s.Value})
	schema["description"] = usage
	return schema
}

func valueSchema(s Setting) object {
	switch v := s.Value.(type) {
	case scalarValue[int]:
		schema := v.describeSchema()
		if s.bounds != nil {
			schema["anyOf"] = []any{s.bounds.narrow(v.schema), variableRef}
		}
		return schema
	case interface{ describeSchema() object }:
		return v.describeSchema()
	case *listValue:
		return object{"type": []string{"string", "array"}, "items": object{"type": "string"}, "default": append([]string{}, *v.target...)}
	case portsValue:
		return object{"type": []string{"string", "integer", "array"}, "items": object{"type": []string{"string", "integer"}}, "default": v.String()}
	case jsonValue:
		return object{"type": "object"}
	case *publishersValue:
		return object{"type": "array", "minItems": 1, "items": object{"$ref": "#/$defs/publisher"}}
	default:
		schema := object{"type": "string", "default": v.String()}
		if choices := Choices(s.Flag); choices != nil {
			schema = object{"anyOf": []any{object{"enum": choices}, variableRef}, "default": v.String()}
		}
		if s.pattern != "" {
			schema = object{"anyOf": []any{object{"type": "string", "pattern": s.pattern}, variableRef}, "default": v.String()}
		}
		return schema
	}
}

func publisherSchema() object {
	o := configure.NewForFile()
	flags := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	o.Flags(flags)
	properties := object{"name": object{"type": "string", "description": "distinguishes the publisher from others, in the log and in metrics"}}
	flags.VisitAll(func(f *pflag.Flag) {
		if configure.Supported(f) && !slices.Contains(PerProcess, f.Name) {
			properties[f.Name] = flagSchema(f, Choices(f.Name))
			if f.Name == rulesField {
				properties[f.Name].(object)["anyOf"] = []any{ruleSchema(), object{"type": "array", "items": ruleSchema()}}
			}
		}
	})
	return object{"type": "object", "additionalProperties": false, "required": []string{"source", "provider", "policy"}, "properties": properties}
}

// flagSchema returns the schema of a field that is also a flag. Its value is the text of a flag,
// which YAML may parse as another type.
func flagSchema(f *pflag.Flag, choices []string) object {
	_, usage := pflag.UnquoteUsage(f)
	schema := object{"description": usage}
	if f.Deprecated != "" {
		schema["deprecated"] = true
	}
	item := scalarSchema(f.Value.Type())
	if choices != nil {
		item = object{"anyOf": []any{object{"enum": choices}, variableRef}}
	}
	if list, ok := f.Value.(pflag.SliceValue); ok {
		schema["anyOf"] = []any{item, object{"type": "array", "items": item}}
		if values := list.GetSlice(); len(values) > 0 {
			schema["default"] = values
		}
		return schema
	}
	maps.Copy(schema, item)
	if f.DefValue != "" {
		schema["default"] = f.DefValue
	}
	return schema
}

func scalarSchema(flagType string) object {
	switch flagType {
	case "bool":
		return object{"anyOf": []any{object{"type": "boolean"}, object{"enum": []string{"true", "false"}}, variableRef}}
	case "int", "int64":
		return object{"anyOf": []any{object{"type": "integer"}, object{"type": "string", "pattern": "^[-+]?[0-9]+$"}, variableRef}}
	case "float64":
		return object{"anyOf": []any{object{"type": "number"}, object{"type": "string", "pattern": "^[-+0-9.eE]+$"}, variableRef}}
	case "duration":
		return object{"anyOf": []any{object{"type": "string", "pattern": durationPattern}, object{"const": 0}, variableRef}}
	default:
		return object{"type": []string{"string", "number", "boolean"}}
	}
}

// Choices returns the allowed values of a flag; nil if it has no list of them.
func Choices(flag string) []string {
	switch flag {
	case "log-level":
		return append(logging.Levels(), "warning")
	case "log-format":
		return []string{"plain", "text", "json"}
	case "outbound-transport-mode":
		return []string{modeTransparent, modeTransportHeader}
	case "xds-auth":
		return XDSAuths()
	default:
		return configure.Choices(flag)
	}
}
