// Package overlay builds Signpost from changed sources, by "go build -overlay": with planted faults, and with
// a clock that is set wrong or runs too fast. The sources themselves aren't touched, and no part of Go is
// copied: a change is an [Edit], an old text and a new one, which is made anew for each build. When the old
// text isn't in the file exactly once, the build fails and says so.
//
// The lab calls [BuildSignpost], once for the clock and once for each mutant that it runs:
//
//	overlay.BuildSignpost(ctx, "signpost", overlay.ClockEdits()...)
//	overlay.BuildSignpost(ctx, "signpost-late-fence", mutant.Edits...)
//
// edit.go has the edits, and how they are made; build.go calls the go command. clock.go has the clock, of
// which clock.go.txt is compiled into Go's package time. mutant.go says what a mutant is; mutants.txt lists
// them.
//
// # Clocks
//
// A replica of the lab with a clock of its own takes it from an environment variable ([Clock.Env]). Its
// offset is that of the wall clock; its rate is that of all clocks and timers. Time-outs that the kernel
// keeps, such as those of TCP, stay as they are.
//
// Certificates are checked by the wall clock of the process. A replica that is ten minutes behind refuses one
// that became valid less than ten minutes ago, and a replica that is ahead one that expires within ten
// minutes. So certificates of the lab have to be valid from an hour before they are made. Messages that are
// signed with TSIG may differ by five minutes from the clock of the name server; with a greater offset, a
// replica can't change records. A rate of 1.3 gains five minutes in 17.
//
// # Concurrency
//
// Everything may be called from any goroutine; builds of one binary share only Go's build cache.
package overlay
