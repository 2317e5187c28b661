package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// measureIdle measures what the publisher does while nothing changes.
func (d *dnsRun) measureIdle(ctx context.Context, r *report) error {
	if err := d.awaitVerification(ctx); err != nil {
		return err
	}
	if err := pause(ctx, dnsInterval/10); err != nil { // windows begin and end between verifications
		return err
	}
	before, err := d.idleSample(ctx)
	if err != nil {
		return err
	}
	if before.lists == d.lists {
		return errors.New("the API server has counted no list since the publisher started, although that lists: look for other names of the metrics that dev/bench/dns_idle.go reads")
	}
	cycles := d.choice.scaled(dnsCycles, 1)
	if err := pause(ctx, time.Duration(cycles)*dnsInterval); err != nil {
		return err
	}
	after, err := d.idleSample(ctx)
	if err != nil {
		return err
	}
	calls, lists, cpu := after.calls.minus(before.calls), after.lists-before.lists, after.cpu-before.cpu
	r.note("idle for %s, with a verification every %s:", time.Duration(cycles)*dnsInterval, dnsInterval)
	r.check("questions for the serial of the zone, one per cycle", float64(calls.serials), 1, float64(cycles), strconv.Itoa(calls.serials))
	r.none("other calls of the provider", calls.transfers+calls.others+calls.updates,
		fmt.Sprintf("%d transfers, %d questions, %d updates", calls.transfers, calls.others, calls.updates))
	r.none("lists that the API server answered, but for its own", lists, strconv.Itoa(lists))
	r.atMost("CPU per cycle, everything else in it included", "ms", ms(cpu)/float64(cycles), dnsCycleWithin)
	r.note("(ExternalDNS, measured once with as many records: %d ms for each cycle)", dnsOtherCycle)
	return nil
}

// awaitVerification waits until the publisher has read the zone after the last change of
// it, which takes a transfer.
func (d *dnsRun) awaitVerification(ctx context.Context) error {
	if _, err := untilIdle(ctx, d.process); err != nil {
		return err
	}
	before := d.server.calls()
	ctx, cancel := context.WithTimeoutCause(ctx, 2*dnsInterval, errTimeout)
	defer cancel()
	for d.server.calls().transfers == before.transfers {
		if err := d.process.ended(); err != nil {
			return err
		}
		if pause(ctx, time.Second) != nil {
			return fmt.Errorf("wait for a verification: %w: see %s", context.Cause(ctx), d.process.log)
		}
	}
	return nil
}

// idleSample is what has been used and asked for so far.
type idleSample struct {
	cpu   time.Duration
	calls serverCalls
	lists int
}

func (d *dnsRun) idleSample(ctx context.Context) (idleSample, error) {
	lists, err := d.cluster.lists(ctx)
	if err != nil {
		return idleSample{}, err
	}
	cpu, err := d.process.cpuTime()
	return idleSample{cpu: cpu, calls: d.server.calls(), lists: lists}, err
}

// lists returns how often the API server has listed objects for its clients: in an answer, or
// at the beginning of a watch. Answers with Services don't count, because the API server lists
// all Services for itself, twice in five minutes; the publisher reads them by a watch.
func (c *cluster) lists(ctx context.Context) (int, error) {
	body, err := c.client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the metrics of the API server: %w", err)
	}
	total := 0.0
	for lines := bufio.NewScanner(strings.NewReader(string(body))); lines.Scan(); {
		line := lines.Text()
		listed := strings.HasPrefix(line, "apiserver_request_total{") && strings.Contains(line, `verb="LIST"`) && !strings.Contains(line, `resource="services"`)
		if !listed && !strings.HasPrefix(line, "apiserver_watch_list_duration_seconds_count") {
			continue
		}
		n, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("read the metrics of the API server: %s: %w", line, err)
		}
		total += n
	}
	return int(total), nil
}

// cpuTime returns the CPU time that the process has used, to the microsecond where the kernel
// counts so finely. The little that threads which ended have used is missing then.
func (p *process) cpuTime() (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		u, err := p.usage()
		return u.cpu, err
	}
	var total time.Duration
	for _, file := range files {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue // the thread has ended
		}
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of %s: %w: see %s", p.name, err, p.log)
		}
		first, _, _ := strings.Cut(string(text), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the CPU time of %s: %s: %w", p.name, file, err)
		}
		total += time.Duration(n)
	}
	return total, nil
}
