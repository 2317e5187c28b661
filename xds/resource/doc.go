// Package resource makes the xDS resources that clients get: Listeners with their routes, Clusters
// and the endpoints of Clusters, encoded and with a version.
//
// Package xds calls it. [Namer.Parse] reads a resource name, [Name.ChoosePort] finds the port that
// it means, and the other methods of [Namer] make the resources of that name from values of package
// catalog. Equal values make equal bytes, so all replicas give a resource the same version.
//
// # Concurrency
//
// All functions are pure.
//
// The messages are encoded by hand, because the generated code of Envoy's API would add 9 MB to the
// binary (decision 0074). Section numbers in comments are those of docs/spec/xds.md.
package resource
