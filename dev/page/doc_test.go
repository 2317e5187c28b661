// Package page_test tests the page of a process in a real browser. It is a separate module, so that the
// client of the browser isn't in the product's go.mod.
package page_test
