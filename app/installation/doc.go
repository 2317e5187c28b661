// Package installation finds what an installation of Signpost consists of: the config file, the
// service account and the Secrets of its Deployment. `signpost check` calls it.
//
// [FromManifests] reads rendered manifests, such as those of `helm template`, and [Find] the
// cluster. Both look for the Deployment with the label app.kubernetes.io/name=signpost whose
// container has --config=PATH, and follow its volumes to the ConfigMap with that file.
//
// A config file of a pod names environment variables and files that only the pod has. [Resolve]
// replaces these by the values of the Secrets that they come from, as far as the caller may read
// them, and reports which publishers lack one.
//
// # Concurrency
//
// Nothing is shared: each call may run in any goroutine.
package installation
