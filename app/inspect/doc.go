// Package inspect is the part of the admin server with which people look into the process: JSON
// under /api/v1alpha1. docs/inspection has the paths for users, and the constants of this package
// those for programs.
//
// The server listens for everybody, and these paths are not for everybody (guard.go). A request needs a
// token of an account that the API server lets use the path (see [Access]), with two exceptions. A
// client that was proved to run as our user, in our container, may do everything ([WithSameUser]). A
// client on the loopback interface, such as `kubectl port-forward`, may read, unless
// [Config.Loopback] says otherwise. A web page in the browser of an operator is on the loopback
// interface, too, when its name was made to stand for 127.0.0.1 (DNS rebinding), or when it just
// sends a form. So the names in Host and Origin are checked as well.
//
// Roles say what they have with an [Offer]. Package process makes a [Server] of the offers of all
// its roles, and package destclient and the page call it. The server filters and pages; it keeps nothing
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
