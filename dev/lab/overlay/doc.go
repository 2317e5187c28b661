// Package overlay builds Signpost from changed sources, by "go build -overlay": with planted faults, and with a clock
// that is set wrong or runs too fast. The sources themselves aren't touched, and no part of Go is copied: a change is an
// [Edit], an old text and a new one, which is made anew for each build. When the old text isn't in the file exactly once, the build
// fails and says so.
//
// The lab calls [BuildSignpost], once for the clock and once for each mutant that it runs:
//
//	overlay.BuildSignpost(ctx, "signpost", overlay.ClockEdits()...)
//	overlay.BuildSignpost(ctx, "signpost-late-fence", mutant.Edits...)
//
// edit.go has the edits, and how they are made; build.go calls the go command. clock.go has the clock, of which clock.go.txt is
// compiled into Go's package time. mutant.go says what a mutant is; mutants_streams.go, mutants_slices.go, mutants_records.go and
// mutants_leader.go have them.
//
// # Clocks
//
// A replica of the lab with a clock of its own takes it from an environment variable ([Clock.Env]). Its offset is that
// of the wall clock; its rate is that of all clocks and timers. Time-outs that the kernel keeps, such as those of TCP, stay as they are.
//
// Certificates are checked by the wall clock of the process. So a replica with an offset of ten minutes refuses a certificate that was issued less than
// ten minutes ago when it is behind, and one that expires within ten minutes when it is ahead, and so do its peers with its own
// certificates if it makes any. The same holds for TSIG, whose fudge is five minutes: a name server answers BADTIME, and the replica can't write any
// record. The lab has to issue its certificates with a validity that begins an hour before, or it tests that instead.
//
// # Concurrency
//
// Everything may be called from any goroutine; builds of one binary share only Go's build cache.
package overlay
