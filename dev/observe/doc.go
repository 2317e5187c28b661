// Package observe has the dashboards of Signpost as Go values ([Dashboards]), and the tests of its alerts and
// dashboards. A test writes the dashboards, with -update, to deploy/observe, copies the alerts of
// deploy/observe/alerts.yaml and the dashboards to the files of the Helm chart, and compares them otherwise.
//
// The other tests start Signpost and say whether each metric and label exists, whether each alert fires
// when it should, and whether all are quiet while the process is healthy. The package is a module of its own,
// because the rule engine of Prometheus has dependencies that Signpost doesn't need. Nobody imports
// it. Everything in it is immutable.
package observe
