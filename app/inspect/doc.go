// Package inspect serves the inspection API of a process: JSON under /api/v1alpha1.
// docs/inspection documents the paths for users, and the constants of this package for programs.
//
// The roles of a process pass an [Offer] each. Package process creates a [Server] from them;
// package inspectclient and the web page are its clients. The server filters and pages, and keeps
// no state between requests except that of listeners.
//
// The server listens on all interfaces, so requests are authorised (guard.go):
//
//   - A request needs a token of an account that the API server lets use the path (see [Access]).
//   - A client that was proved to run as our user, in our container, may do everything
//     ([WithSameUser]).
//   - A client on the loopback interface, such as `kubectl port-forward`, may read, unless
//     [Config.Loopback] says otherwise.
//   - Requests of web pages are on the loopback interface too, by DNS rebinding or forms. So the
//     names in Host and Origin are checked as well.
//
// # Concurrency
//
// Handlers are called from any goroutine, in a limited number, and call the offers. Only while
// there are listeners, the goroutine of [Server.Run] compares the offers with their former state
// once a second; a new listener has them compared, too. A second goroutine reads a few counts every
// [FigureInterval] (recorder.go).
package inspect
