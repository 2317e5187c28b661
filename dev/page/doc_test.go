// Package page_test opens the page of a process in a real browser. It is a module of its own, so that
// the client of the browser isn't in the go.mod of the product.
//
// Read browser_test.go and fixture_test.go first: a browser, and what the roles of a test offer.
package page_test
