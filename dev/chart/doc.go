// Package chart has the tests of the Helm chart, deploy/helm/signpost: it is linted, rendered with the
// files of testdata/values and with random values, sent to a real API server that enforces the restricted pod
// security standard, and what it says is run under its service account.
//
// It is a module of its own, because the engine of Helm has dependencies that Signpost doesn't
// need. Nobody imports it.
package chart
