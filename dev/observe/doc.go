// Package observe has the alerts and dashboards of Signpost as Go values: [Alerts] and
// [Dashboards]. Its test writes them, with -update, to deploy/observe and to the files of the Helm
// chart, and compares them otherwise.
//
// The other tests start Signpost and say whether each metric and label exists, whether each alert fires
// when it should, and whether all are quiet while the process is healthy. The package is a module of its own,
// because the rule engine of Prometheus has dependencies that Signpost doesn't need. Nobody imports
// it. Everything in it is immutable.
//
// The files in reading order: alert.go, alerts.go, rules.go; dashboard.go, dashboards.go.
package observe
