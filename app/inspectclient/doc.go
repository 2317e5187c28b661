// Package inspectclient is the client of the inspection API (package inspect). It queries all
// processes of Signpost in parallel and merges the responses: lists are merged and sorted,
// explanations are joined, and for records the leader counts.
//
// Commands find the processes with package portforward, create a [Client], and print the
// [output.Result] of its methods. If one process fails but another responds, the failure is a note.
//
// # Concurrency
//
// A Client belongs to the goroutine of its command. It queries the processes in parallel.
package inspectclient
