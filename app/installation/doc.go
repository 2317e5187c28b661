// Package installation finds the parts of an installation of Signpost: the config file, the service
// account and the Secrets of its Deployment. `signpost check` calls it.
//
// [FromManifests] reads rendered manifests, such as those of `helm template`, and [Find] the
// cluster. Both look for the Deployment with the label app.kubernetes.io/name=signpost whose
// container has --config=PATH, and follow its volumes to the ConfigMap with that file.
//
// A config file of a pod refers to environment variables and files that only the pod has. A
// [Resolver] returns their values from Secrets, if the caller may read them, and the publishers that
// lack a value.
//
// # Concurrency
//
// All functions may be called from any goroutine.
package installation
