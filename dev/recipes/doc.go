// Package recipes tests the pages that users follow: docs/install.md, docs/migrate-*.md, docs/tutorial.md,
// docs/look.md and README.md.
//
// A fenced block of such a page that a test uses has a name in its info string:
//
//	sh recipe=plan         commands, which a shell runs
//	yaml recipe=patch      a file
//
// The tests read these blocks from the pages, so that a page can't show an untested command or patch. They
// run with kubectl against a real API server and a real BIND. While one program replaces another, a test
// watches what users see, and counts losses. Of the replaced programs, only kube-controller-manager is real:
// Linkerd's controller is a process with the same arguments and rights, and ExternalDNS a zone with its
// records.
//
// harness_test.go has the common parts. Nobody imports the package.
package recipes
