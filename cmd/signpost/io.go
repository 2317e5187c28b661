package main

import "io"

// streams are where a command writes: out gets what was asked for, err what went wrong. Both escape
// what a terminal would take for a command ([output.Terminal]).
//
// [output.Terminal]: https://pkg.go.dev/github.com/signpostd/signpost/app/output#Terminal
type streams struct {
	out, err io.Writer
}
