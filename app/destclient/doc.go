// Package destclient asks a running server what it knows, and prints the answer. [Get] and [Profile]
// ask a Destination server, Signpost's or Linkerd's, for endpoints and for a profile. The commands
// of the same names call these functions. Package inspectclient asks admin servers.
//
// Read calls.go first, then ask.go and stream.go, which ask once or follow an answer as it
// changes. endpointset.go keeps endpoints, and getprint.go and getrow.go print them.
// profileprint.go, profiletext.go, profilematch.go and profilechange.go print profiles, and
// json.go prints both as JSON. reason.go finds out why there is no answer.
//
// # Concurrency
//
// A call runs in the goroutine of its command and ends with its context.
package destclient
