// Package inspect is the part of the admin server with which people look into the process, as JSON
// under /api/v1alpha1.
//
//	GET  /api/v1alpha1/plan               what is held, a page of plans
//	GET  /api/v1alpha1/plan/HASH          what one plan has, a page of changes
//	POST /api/v1alpha1/plan/HASH/approve  allows the changes of a plan to be made
//
// The admin server listens for everybody, and these paths are for whoever may be on the host or in
// the pod: a request must come from the loopback interface, as those of `kubectl port-forward` do,
// and be addressed to it. A web page in the browser of an operator meets both conditions when its
// name was made to stand for 127.0.0.1 (DNS rebinding), or when it just sends a form, so the names
// in Host and Origin are checked, too.
//
// [Plans] makes the handlers; the role dns of package process serves them, and package ask calls
// them. guard.go has the checks, plan.go the paths, message.go what is exchanged.
//
// # Concurrency
//
// Handlers are called from any goroutine.
package inspect
