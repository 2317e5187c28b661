// Package ask asks a running server what it knows, and shows what it says: a Destination
// server, Signpost's or Linkerd's, for endpoints ([Get]) and profiles ([Profile]), and the
// admin server of a signpost for its linked clusters ([Clusters]). The commands of the same
// names call it.
//
// Read calls.go first, then ask.go and stream.go, which ask once or for as long as the
// answer changes. getprint.go and getrow.go show endpoints, which endpointset.go keeps;
// profileprint.go, profiletext.go, profilematch.go and profilechange.go show profiles;
// json.go shows both as JSON. clusters.go is about clusters.
//
// # Concurrency
//
// Each call belongs to the goroutine of its command, and ends with its context.
package ask
