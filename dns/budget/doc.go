// Package budget limits what a publisher may take away from a zone without approval: record
// sets that it deletes, and targets that its updates remove. What is planned beyond the limits
// is held, shown as a plan with a hash, and made when somebody approves that plan.
//
// A [Book] has a [Ledger] for each zone. For each name that it has planned, the publisher calls
// Note with all changes of the name, nil if there are none. When names were planned it calls
// Decide, and Permitted for the names in Counted; what that leaves out is held. When Announce
// returns a plan, it is shown to people. Before a batch the publisher calls Spend for each of its
// names, takes a [Snapshot], and in the job of the batch has a [Keeper] keep it, before the
// provider is called: so a process that dies can't spend the same budget again. When everything
// has been read and planned it calls Complete. Note with nil ends approvals, so it isn't for a name
// that is only looked at again. Requests of people reach the loop through a [ApprovalQueue].
//
// Read it in this order: count.go, limits.go, ledger.go, announce.go, book.go, state.go, merge.go,
// keeper.go, desk.go. Package configmap stores snapshots in the cluster.
//
// # Concurrency
//
// One goroutine owns a Book and its Ledgers. A Keeper and a Desk may be used from any goroutine.
// Snapshots and plans are immutable.
package budget
