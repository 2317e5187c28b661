package main

import "io"

// streams are where a command writes: out gets what was asked for, err what went wrong.
type streams struct {
	out, err io.Writer
}
