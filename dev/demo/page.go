package main

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
)

// pages are the addresses of the pages of the processes, with what they show.
func (s *environment) pages() (lines []string) {
	for _, p := range []struct{ shows, admin string }{
		{"who writes endpoints", s.controllersAdmin}, {"who is told what", s.destinationAdmin}, {"what is published", s.dnsAdmin},
	} {
		if p.admin != "" {
			lines = append(lines, fmt.Sprintf("http://%s/   %s", p.admin, p.shows))
		}
	}
	return lines
}

// openPage opens the page of a process in the browser, if there is one.
func openPage(ctx context.Context, admin string) {
	program := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	if _, err := exec.LookPath(program); err != nil || admin == "" {
		return
	}
	// It is told to the user in any case.
	_ = exec.CommandContext(ctx, program, "http://"+admin+"/").Start()
}
