package dns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/dev/bench/measure"
)

// measureIdle measures what the publisher does while nothing changes.
func (d *run) measureIdle(ctx context.Context, r *measure.Report) error {
	if err := d.awaitVerification(ctx); err != nil {
		return err
	}
	if err := measure.Pause(ctx, dnsInterval/10); err != nil { // windows begin and end between verifications
		return err
	}
	before, err := d.idleSample(ctx)
	if err != nil {
		return err
	}
	if before.lists == d.lists {
		return errors.New("the API server has counted no list since the publisher started, although that lists: look for other names of the metrics that dev/bench/dns_idle.go reads")
	}
	cycles := d.choice.Scaled(dnsCycles, 1)
	if err := measure.Pause(ctx, time.Duration(cycles)*dnsInterval); err != nil {
		return err
	}
	after, err := d.idleSample(ctx)
	if err != nil {
		return err
	}
	calls, lists, cpu := after.calls.minus(before.calls), after.lists-before.lists, after.cpu-before.cpu
	r.Note("idle for %s, with a verification every %s:", time.Duration(cycles)*dnsInterval, dnsInterval)
	r.Check("questions for the serial of the zone, one per cycle", float64(calls.serials), 1, float64(cycles), strconv.Itoa(calls.serials))
	r.None("other calls of the provider", calls.transfers+calls.others+calls.updates,
		fmt.Sprintf("%d transfers, %d questions, %d updates", calls.transfers, calls.others, calls.updates))
	r.None("lists that the API server answered, but for its own", lists, strconv.Itoa(lists))
	r.AtMost("CPU per cycle, everything else in it included", "ms", measure.Ms(cpu)/float64(cycles), dnsCycleWithin)
	r.Note("(ExternalDNS, measured once with as many records: %d ms for each cycle)", dnsOtherCycle)
	return nil
}

// awaitVerification waits until the publisher has read the zone after the last change of
// it, which takes a transfer.
func (d *run) awaitVerification(ctx context.Context) error {
	if _, err := measure.UntilIdle(ctx, d.process); err != nil {
		return err
	}
	before := d.server.calls().transfers
	return d.await(ctx, "a verification", 2*dnsInterval, time.Second, func() (bool, error) { return d.server.calls().transfers > before, nil })
}

// idleSample is what has been used and asked for so far.
type idleSample struct {
	cpu   time.Duration
	calls serverCalls
	lists int
}

func (d *run) idleSample(ctx context.Context) (idleSample, error) {
	lists, err := apiLists(ctx, d.cluster)
	if err != nil {
		return idleSample{}, err
	}
	cpu, err := d.process.CpuTime()
	return idleSample{cpu: cpu, calls: d.server.calls(), lists: lists}, err
}

// apiLists returns how often the API server has listed objects for its clients: in an answer, or
// at the beginning of a watch. Answers with Services don't count, because the API server lists
// all Services for itself, twice in five minutes; the publisher reads them by a watch.
func apiLists(ctx context.Context, c *measure.Cluster) (int, error) {
	body, err := c.Client.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
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
