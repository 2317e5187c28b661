// Package inspect is the part of the admin server with which people look into the process: JSON
// under /api/v1alpha1. docs/inspection.md has the paths for users, and the constants of this package
// those for programs.
//
// The admin server listens for everybody, and these paths don't. A request has to come from the
// loopback interface and be addressed to it, as those of `kubectl port-forward` are, or it has to
// have a token of somebody whom the API server lets use the path (see [Access]). A web page in the
// browser of an operator meets the first condition when its name was made to stand for 127.0.0.1
// (DNS rebinding), or when it just sends a form, so the names in Host and Origin are checked, too.
//
// Roles say what they have with an [Offer]. Package process makes a [Server] of the offers of all
// its roles, and package ask and the page call it. The server filters and pages; it keeps nothing
// between requests but what listeners to changes were told.
//
// Read server.go and offer.go first. status.go, streams.go, records.go, explanation.go and
// message.go are what is exchanged. guard.go says who may ask, parameters.go, filter.go and query.go
// read what is asked, explain.go joins what roles explain, failure.go says what is wrong.
// changes.go, hub.go and watch.go tell changes. plan.go has the plans that wait for approval.
//
// # Concurrency
//
// Handlers are called from any goroutine, a bounded number of them at a time, and call the offers.
// Nothing is computed in between. Only while somebody listens to changes, the goroutine of
// [Server.Run] compares, once a second, what the offers have.
package inspect
