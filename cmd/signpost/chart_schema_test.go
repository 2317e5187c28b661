package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/app/settings"
	"github.com/signpostd/signpost/dns/configure"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/golden"
)

// schema is a JSON Schema, or a part of one.
type schema = map[string]any

// TestSchemaOfChart compares the schema of the chart's values with that of the config file, whose roles and
// publishers have the same fields; -update rewrites it.
func TestSchemaOfChart(t *testing.T) {
	text, err := settings.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var config schema
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	made, err := json.MarshalIndent(valuesSchema(config), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden.File(t, "../../deploy/helm/signpost/values.schema.json", string(made)+"\n")
}

// TestSecretFieldsOfChart compares the publisher fields that the chart mounts as files with those that a
// config file can read from a file; -update rewrites the list.
func TestSecretFieldsOfChart(t *testing.T) {
	flags := pflag.NewFlagSet("publisher", pflag.ContinueOnError)
	configure.NewForFile().Flags(flags)
	var fields []string
	flags.VisitAll(func(f *pflag.Flag) {
		if provider.IsSecret(f) && flags.Lookup(f.Name+"-file") != nil {
			fields = append(fields, f.Name)
		}
	})
	slices.Sort(fields)
	golden.File(t, "../../deploy/helm/signpost/files/secret-fields.txt", strings.Join(fields, "\n")+"\n")
	if len(fields) < 5 {
		t.Errorf("only %q can be read from files", fields)
	}
}

// valuesSchema returns the schema of the chart's values, with parts of the config file's schema.
func valuesSchema(config schema) schema {
	definitions := config["$defs"].(schema)
	sections := config["properties"].(schema)
	definitions["publisher"] = chartPublisher(definitions["publisher"].(schema))
	role := func(section any) schema {
		return closed(schema{"enabled": boolean, "config": section})
	}
	values := closed(schema{
		// Helm adds this value to a subchart.
		"global": schema{"type": "object"},
		"image": closed(schema{
			"repository": some, "tag": text, "digest": schema{"type": "string", "pattern": "^(sha256:[0-9a-f]{64})?$"},
			"pullPolicy": schema{"enum": []string{"Always", "IfNotPresent", "Never"}},
		}),
		"imagePullSecrets": objects, "nameOverride": text, "fullnameOverride": text,
		"replicas":    schema{"type": "integer", "minimum": 0, "maximum": 100},
		"destination": role(sections["destination"]),
		"controllers": role(sections["controllers"]),
		"xds": closed(schema{
			"enabled": boolean, "config": sections["xds"], "tlsSecret": text,
			"bootstrap": closed(schema{"namespaces": schema{"type": "array", "items": some}, "ca": text, "token": text, "cert": text, "key": text}),
		}),
		"dns": closed(schema{
			"enabled": boolean, "publishers": schema{"type": "array", "items": schema{"$ref": "#/$defs/publisher"}}, "extraRules": objects,
		}),
		"log": sections["log"],
		"env": objects, "envFrom": objects, "extraVolumes": objects, "extraVolumeMounts": objects,
		"extraArgs":      schema{"type": "array", "items": schema{"type": "string"}},
		"serviceAccount": closed(schema{"create": boolean, "name": text, "annotations": texts}),
		"rbac":           closed(schema{"create": boolean}),
		"crds":           closed(schema{"dns": boolean, "keep": boolean}),
		"resources":      schema{"type": "object"},
		"podAnnotations": texts, "podLabels": texts, "nodeSelector": texts,
		"tolerations": objects, "affinity": schema{"type": "object"}, "priorityClassName": text, "topologySpreadConstraints": objects,
		"podSecurityContext": schema{"type": "object"}, "securityContext": schema{"type": "object"}, "lifecycle": schema{"type": "object"},
		"terminationGracePeriodSeconds": schema{"type": "integer", "minimum": 10, "maximum": 3600},
		"revisionHistoryLimit":          schema{"type": "integer", "minimum": 0, "maximum": 100},
		"hostNetwork":                   boolean,
		"dnsPolicy":                     schema{"enum": []string{"", "ClusterFirst", "ClusterFirstWithHostNet", "Default"}},
		"podDisruptionBudget":           closed(schema{"enabled": boolean, "minAvailable": schema{"type": []string{"integer", "string"}, "minimum": 0, "pattern": "^[0-9]+%$"}}),
		"service":                       closed(schema{"annotations": texts}),
		"networkPolicy":                 closed(schema{"enabled": boolean, "destinationFrom": objects, "xdsFrom": objects, "metricsFrom": objects, "inspectFrom": objects, "egress": objects}),
		"inspection": closed(schema{
			"port": schema{"type": "integer", "minimum": 1024, "maximum": 65535}, "listen": schema{"enum": []string{"loopback", "all"}}, "trustLoopback": boolean, "tokens": boolean,
		}),
		"metrics": closed(schema{
			"podMonitor":     closed(schema{"enabled": boolean, "labels": texts, "interval": some}),
			"serviceMonitor": closed(schema{"enabled": boolean, "labels": texts, "interval": some}),
			"prometheusRule": closed(schema{"enabled": boolean, "labels": texts}),
			"dashboards":     closed(schema{"enabled": boolean, "labels": texts}),
		}),
	})
	requireSections(values)
	values["required"] = append(values["required"].([]string), "hostNetwork")
	values["$schema"], values["$defs"], values["title"] = config["$schema"], definitions, "Values of the chart signpost"
	return values
}

// requireSections requires the mappings of a mapping whose fields the templates read. The chart's values
// have all of them: one is missing only if it is set to null.
func requireSections(mapping schema) {
	var sections []string
	for name, value := range mapping["properties"].(schema) {
		section := value.(schema)
		if _, ok := section["properties"]; !ok || name == "log" {
			continue
		}
		sections = append(sections, name)
		if name != "config" {
			requireSections(section)
		}
	}
	if slices.Sort(sections); len(sections) > 0 {
		mapping["required"] = sections
	}
}

// chartPublisher returns the schema of a publisher, some of whose fields may come from Secrets. Its name
// becomes part of the name of a ConfigMap.
func chartPublisher(publisher schema) schema {
	fields := publisher["properties"].(schema)
	fields["name"] = schema{"type": "string", "pattern": "^[a-z1-9]([a-z0-9-]{0,38}[a-z0-9])?$", "description": "the name of the publisher"}
	key := closed(schema{"name": some, "key": some})
	key["required"] = []string{"name", "key"}
	fields["secretRef"] = schema{
		"type": "object", "additionalProperties": key, "propertyNames": schema{"enum": slices.Sorted(maps.Keys(fields))},
		"description": "fields whose values are keys of Secrets",
	}
	return publisher
}

var (
	boolean = schema{"type": "boolean"}
	text    = schema{"type": "string"}
	some    = schema{"type": "string", "minLength": 1}
	texts   = schema{"type": "object", "additionalProperties": schema{"type": "string"}}
	objects = schema{"type": "array", "items": schema{"type": "object"}}
)

// closed returns the schema of an object without other fields.
func closed(fields schema) schema {
	return schema{"type": "object", "additionalProperties": false, "properties": fields}
}
