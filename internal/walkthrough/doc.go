// Package walkthrough tests the pages in docs/contributing: it compiles what a page adds to the repository,
// and runs the commands that it shows. The test of this package does so for every page; nothing else uses it.
//
// The info string of a fenced block says what the block is:
//
//	go file=PATH           a new file of the repository; also yaml, txtar, text and so on
//	go file=PATH as-is     an existing file, quoted in full
//	diff file=PATH         an edit of an existing file, or of one that the page has made
//	sh run                 commands
//
// A block without file= and run is prose. In an edit:
//
//   - Lines with a space or "-" in front must match exactly one place of the file. Lines with "-" are
//     removed, lines with "+" are added.
//   - A line "@@" starts a new place.
//   - A line that ends with "…" is matched by its beginning.
//   - An edit without "+" and "-" quotes a file.
//
// Commands are lines "go test …", "go build …", "go vet …", "go run …" or "go generate …", and comments. They
// run in a copy of the repository that has the blocks above them, so that they may read and write whatever
// they like. (go's -overlay can't test a package in a new directory.)
//
// # Concurrency
//
// [Parse] is pure. [Page.Walk] calls everything on its own goroutine. A [Copy] is for one page at a time.
package walkthrough
