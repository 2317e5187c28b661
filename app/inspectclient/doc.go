// Package inspectclient asks all processes of Signpost at once over the inspection API (package inspect), and
// makes one answer of theirs: lists are merged and sorted, explanations are joined, and of several
// replicas that could publish records the leader counts.
//
// Commands reach the processes with package portforward, make a [Client] of them, and print the
// [output.Answer] of its methods. What one process can't answer is a note and not the end, as long as
// another one answers.
//
// Read client.go first, which asks one process, and merge.go, which asks all. streams.go,
// services.go, records.go, zonefile.go, problems.go, status.go, clusters.go and plans.go are a
// question each. subject.go reads what somebody wants explained, and explain.go joins explanations.
//
// # Concurrency
//
// A Client belongs to the goroutine of its command. It asks the processes at the same time.
package inspectclient
