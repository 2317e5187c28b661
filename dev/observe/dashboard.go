package observe

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Dashboard is a dashboard of Grafana 10 or later.
type Dashboard struct {
	// Name is that of the file, and ends the UID, which stays the same for ever.
	Name, Title, Description string
	// ByPublisher adds a variable for the publishers of the dns role.
	ByPublisher bool
	Rows        []Row
}

// Row has panels side by side under a title.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel shows queries over time.
type Panel struct {
	Title, Description string
	// Unit is one of Grafana: short, s, ops, bytes, percentunit.
	Unit    string
	Queries []Query
}

// Query is a query in PromQL. In Expr, SEL stands for the labels that the variables of the dashboard choose.
type Query struct{ Expr, Legend string }

// sel are the labels that every query has; each variable may choose all.
const sel = `job=~"$job", namespace=~"$namespace", pod=~"$pod"`

// publisherSel leaves series without the label in, which a process with one publisher has.
const publisherSel = sel + `, publisher=~"$publisher|"`

// PromQL returns the query as Grafana sends it, except for the variables.
func (d Dashboard) PromQL(q Query) string {
	labels := sel
	if d.ByPublisher {
		labels = publisherSel
	}
	return strings.ReplaceAll(q.Expr, "SEL", labels)
}

// object is an object of JSON.
type object map[string]any

// datasource is the one that the variable of this name chooses.
var datasource = object{"type": "prometheus", "uid": "${datasource}"}

// leaderChanges is the query for the lines that mark a new leader in all panels.
const leaderChanges = `changes(leader_election_terms_total{SEL}[1m]) > 0`

// The grid of Grafana is 24 wide.
const (
	gridWidth   = 24
	panelHeight = 8
)

// JSON returns the dashboard in Grafana's JSON model, schema 39.
func (d Dashboard) JSON() (string, error) {
	text, err := json.MarshalIndent(object{
		"uid": "signpost-" + d.Name, "title": d.Title, "description": d.Description, "tags": []string{"signpost"},
		"schemaVersion": 39, "version": 1, "editable": true, "graphTooltip": 1, "refresh": "30s", "timezone": "browser",
		"time":       object{"from": "now-3h", "to": "now"},
		"templating": object{"list": d.variables()},
		"annotations": object{"list": []object{{
			"name": "Leader changes", "enable": true, "iconColor": "orange", "datasource": datasource,
			"expr": strings.ReplaceAll(leaderChanges, "SEL", sel), "titleFormat": "{{pod}} leads {{name}}",
		}}},
		"panels": d.panels(),
	}, "", "  ")
	if err != nil {
		return "", fmt.Errorf("write the dashboard %s: %w", d.Name, err)
	}
	return string(text) + "\n", nil
}

func (d Dashboard) variables() []object {
	list := []object{
		{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
		variable("job", `label_values(signpost_build_info, job)`),
		variable("namespace", `label_values(signpost_build_info{job=~"$job"}, namespace)`),
		variable("pod", `label_values(signpost_build_info{job=~"$job", namespace=~"$namespace"}, pod)`),
	}
	if d.ByPublisher {
		list = append(list, variable("publisher", `label_values(signpost_dns_provider_failing{job=~"$job", namespace=~"$namespace"}, publisher)`))
	}
	return list
}

func variable(name, query string) object {
	return object{
		"name": name, "label": strings.ToUpper(name[:1]) + name[1:], "type": "query", "datasource": datasource,
		"definition": query, "query": object{"query": query, "refId": name}, "refresh": 2, "sort": 1,
		"includeAll": true, "multi": true, "allValue": ".*", "current": object{"text": "All", "value": "$__all"},
	}
}

func (d Dashboard) panels() []object {
	var list []object
	add := func(o object, x, y, width, height int) {
		o["id"], o["gridPos"] = len(list)+1, object{"x": x, "y": y, "w": width, "h": height}
		list = append(list, o)
	}
	y := 0
	for _, row := range d.Rows {
		add(object{"type": "row", "title": row.Title, "collapsed": false, "panels": []object{}}, 0, y, gridWidth, 1)
		y++
		width := gridWidth / len(row.Panels)
		for i, p := range row.Panels {
			add(d.panel(p), i*width, y, width, panelHeight)
		}
		y += panelHeight
	}
	return list
}

func (d Dashboard) panel(p Panel) object {
	var targets []object
	for i, q := range p.Queries {
		targets = append(targets, object{
			"refId": string(rune('A' + i)), "datasource": datasource, "editorMode": "code", "expr": d.PromQL(q), "legendFormat": q.Legend, "range": true,
		})
	}
	return object{
		"type": "timeseries", "title": p.Title, "description": p.Description, "datasource": datasource, "targets": targets,
		"fieldConfig": object{
			"defaults": object{"unit": p.Unit, "min": 0, "custom": object{"lineWidth": 1, "fillOpacity": 10, "showPoints": "never"}}, "overrides": []object{},
		},
		"options": object{
			"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true}, "tooltip": object{"mode": "multi", "sort": "desc"},
		},
	}
}
