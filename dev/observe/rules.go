package observe

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"go.yaml.in/yaml/v3"
)

// runbooks is where the pages of docs/runbooks are on the web.
const runbooks = "https://github.com/signpostd/signpost/blob/main/docs/runbooks/"

// header is the comment above a generated file.
const header = "# This file is generated from dev/observe, do not edit it: go test -C dev/observe . -run Generated -update\n"

// RunbookFile returns the name of the page about an alert in docs/runbooks.
func (a Alert) RunbookFile() string {
	var b strings.Builder
	for i, r := range strings.TrimPrefix(a.Name, "Signpost") {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String() + ".md"
}

// RuleFile returns the alerts as a rule file of Prometheus.
func RuleFile() (string, error) {
	var file rulefmt.RuleGroups
	for _, g := range Alerts() {
		group := rulefmt.RuleGroup{Name: g.Name}
		for _, a := range g.Alerts {
			group.Rules = append(group.Rules, a.rule())
		}
		file.Groups = append(file.Groups, group)
	}
	var b bytes.Buffer
	b.WriteString(header)
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(file); err != nil {
		return "", fmt.Errorf("write the rule file: %w", err)
	}
	return b.String(), nil
}

func (a Alert) rule() rulefmt.Rule {
	return rulefmt.Rule{
		Alert: a.Name, Expr: a.Expr, For: model.Duration(a.For),
		Labels:      map[string]string{"severity": string(a.Severity)},
		Annotations: map[string]string{"summary": a.Summary, "description": a.Description, "runbook_url": runbooks + a.RunbookFile()},
	}
}
