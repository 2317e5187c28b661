// Package recipes has the tests of the pages that users follow to install Signpost, to put it in the place of another
// program, to publish a first name, and to look first: docs/install.md, docs/migrate-*.md, docs/tutorial.md, docs/look.md and README.md.
//
// A fenced block of such a page that a test uses has a name in its info string:
//
//	sh recipe=plan         commands, which a shell runs
//	yaml recipe=patch      a file
//
// The tests take these blocks from the pages, so that a page can't show a command or a patch that was never tried. They run
// against a real API server and a real BIND, with kubectl. While a program takes the place of another one, they look on all the
// time at what its users see, and count what was lost. The programs that Signpost replaces aren't there, but for
// kube-controller-manager: for Linkerd's controller stands a process with the same arguments and rights, and for ExternalDNS a
// zone as it leaves one.
//
// harness_test.go has what all tests use. Nobody imports the package.
package recipes
