// Package page_test tests the page of a process in a real browser. It is a separate module, so that the
// client of the browser isn't in the product's go.mod.
//
// Reading order: browser_test.go (the browser) and fixture_test.go (the data of the roles), then the tests.
package page_test
