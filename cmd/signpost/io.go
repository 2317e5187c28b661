package main

import "io"

// streams are the output of a command: out is for results, err for errors. Both escape terminal
// control characters ([output.Terminal]).
//
// [output.Terminal]: https://pkg.go.dev/github.com/signpostd/signpost/app/output#Terminal
type streams struct {
	out, err io.Writer
}
