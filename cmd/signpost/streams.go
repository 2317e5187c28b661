package main

import "io"

// streams are what a command writes to: out takes what was asked for, err what went wrong.
type streams struct {
	out, err io.Writer
}
