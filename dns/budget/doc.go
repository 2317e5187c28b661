// Package budget limits the deletions of a publisher without approval: record sets that it deletes,
// and targets that its updates remove. Changes beyond the limits are held, shown as a plan with a
// hash, and made when a user approves that plan. Package publisher calls it.
//
// A [Book] has a [Ledger] for each zone. The publisher calls
//
//  1. Needs, for each planned name, and Note, with all of its changes, or nil if there are none. Nil ends
//     approvals, so don't call Note for a name that is only planned again.
//  2. Decide, after names were planned, and Permitted for the names in Counted. All other changes
//     are held. If Announce returns a plan, it is shown to users.
//  3. Spend for each name of a batch, and then [Keeper.Keep] with a [Snapshot] before it calls the
//     provider. So a process that dies can't spend the same budget twice.
//  4. Complete, when everything has been read and planned.
//
// Requests of users reach the loop through an [ApprovalQueue]. Package configmap stores snapshots
// in the cluster.
//
// # Concurrency
//
// One goroutine owns a Book and its Ledgers. A Keeper and an ApprovalQueue may be used from any
// goroutine. Snapshots and plans are immutable.
package budget
