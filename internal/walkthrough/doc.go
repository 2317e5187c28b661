// Package walkthrough makes tests of the pages in docs/contributing: what a page adds to the
// repository is compiled, and the commands that it shows are run.
//
// The info string of a fenced block says what the block is:
//
//	go file=PATH           a new file of the repository; also yaml, txtar, text and so on
//	go file=PATH as-is     a file that is there, shown as it is
//	diff file=PATH         an edit of a file that is there, or that the page has made
//	sh run                 commands
//
// A block without file= and run is prose. In an edit, lines that begin with a space or with
// "-" are found at exactly one place of the file; those with "-" go, those with "+" come; a
// line "@@" begins a new place. One that ends with "…" is found by its beginning. An edit
// without "+" and "-" quotes a file. Commands are lines
// "go test …", "go build …", "go vet …", "go run …" or "go generate …", and comments. They
// run in a copy of the repository that has the blocks above them, so that they may read and
// write whatever they like. (go's -overlay can't test a package in a new directory.)
//
// [Parse] (page.go) reads a page, [Page.Walk] (walk.go) goes through it, and [Copy] (copy.go, with
// command.go and events.go) runs its commands. The test
// of this package does that with every page; nothing else uses it.
//
// # Concurrency
//
// Parse is pure. Walk calls everything on its own goroutine. A Copy is for one page at a time.
package walkthrough
