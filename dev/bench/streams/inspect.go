package streams

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/dev/bench/measure"
	"github.com/signpostd/signpost/dev/bench/workload"
)

const (
	// inspectedStreams and inspectedRecords are how much there is to look at.
	inspectedStreams, inspectedRecords = 10_000, 100_000
	// inspections is how often a list is read, and inspectedUpdates how many changes are measured
	// with and without a reader.
	inspections, inspectedUpdates = 20, 40
)

// measureInspect measures what it costs to look into a process: how long lists take, and what becomes
// of the fan-out while a page is open, which listens to all changes and reads lists each second.
func measureInspect(ctx context.Context, r *measure.Report, c measure.Options) error {
	if err := measureRecords(r); err != nil {
		return err
	}
	const endpoints = 100
	streams := c.Scaled(inspectedStreams, 100)
	l, err := workload.StartLoaded(ctx, streams, endpoints)
	if err != nil {
		return err
	}
	defer l.Stop()
	r.Note("")
	r.TitleBeside("", "%d streams of a Service with %d endpoints", streams, endpoints)
	for _, path := range []string{inspect.StreamsPath, inspect.StreamsPath + "?search=nothing", inspect.ServicesPath, inspect.StatusPath} {
		took, err := firstBytes(ctx, path)
		if err != nil {
			return err
		}
		r.AtMost("first byte of "+path+", median", "ms", took, 200)
	}
	return measureReader(ctx, r, inspectedLoad{l, streams})
}

// inspectedLoad is a server with streams.
type inspectedLoad struct {
	*workload.Loaded
	streams int
}

// measureReader measures the fan-out without and with a page that is open, in turns.
func measureReader(ctx context.Context, r *measure.Report, l inspectedLoad) error {
	var p99, cpu [2][]float64
	for range measure.Rounds {
		for i := range 2 {
			closePage := func() {}
			if i == 1 {
				var err error
				if closePage, err = openPage(ctx); err != nil {
					return err
				}
			}
			spent, slow, err := l.fanOut(ctx)
			closePage()
			if err != nil {
				return err
			}
			cpu[i], p99[i] = append(cpu[i], spent), append(p99[i], slow)
		}
	}
	r.TitleBeside("no reader", "the same, %d changes of one pod, without and with a page, medians of %d", inspectedUpdates, measure.Rounds)
	r.Ratio("p99 from API write to a stream", "ms", measure.Figures{Base: measure.Median(p99[0], measure.Itself), Signpost: measure.Median(p99[1], measure.Itself), Limit: 1.3})
	r.Ratio("CPU of the process per change", "ms", measure.Figures{Base: measure.Median(cpu[0], measure.Itself), Signpost: measure.Median(cpu[1], measure.Itself), Limit: 0})
	return nil
}

// fanOut changes a pod again and again. It returns the CPU time of a change and the p99 of its
// deliveries, in ms.
func (l inspectedLoad) fanOut(ctx context.Context) (cpu, p99 float64, err error) {
	l.Streams.Latencies() // those of the setup
	used, err := l.Server.CpuOf(func() error { return changes(ctx, l.Streams, l.Toggler, inspectedUpdates) })
	if err != nil {
		return 0, 0, err
	}
	return used.Seconds() * 1000 / inspectedUpdates, measure.Quantile(l.Streams.Latencies(), .99), nil
}

// firstBytes returns how long it takes until a list begins to come, in ms.
func firstBytes(ctx context.Context, path string) (float64, error) {
	var all []float64
	for range inspections {
		begun := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+measure.AdminAddr+path, nil)
		if err != nil {
			return 0, err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return 0, fmt.Errorf("ask for %s: %w", path, err)
		}
		took := time.Since(begun)
		err = json.NewDecoder(res.Body).Decode(new(map[string]any))
		_ = res.Body.Close()
		if err != nil || res.StatusCode != http.StatusOK {
			return 0, fmt.Errorf("ask for %s: %s (%w)", path, res.Status, err)
		}
		all = append(all, took.Seconds()*1000)
	}
	return measure.Median(all, measure.Itself), nil
}

// openPage listens to all changes and reads the lists once a second, as a page does. The function
// that it returns closes it.
func openPage(ctx context.Context) (func(), error) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+measure.AdminAddr+inspect.ChangesPath, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		cancel()
		return nil, fmt.Errorf("listen to changes: %w", err)
	}
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			continue
		}
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		for measure.Pause(ctx, time.Second) == nil {
			for _, path := range []string{inspect.StreamsPath, inspect.ServicesPath} {
				_, _ = measure.AdminGet(ctx, path)
			}
		}
	}()
	return func() {
		cancel()
		_ = res.Body.Close()
		<-done
		<-done
	}, nil
}

// manyRecords is a publisher with many records, in the order of the list.
type manyRecords []inspect.Record

// Records implements [inspect.RecordsOf].
func (all manyRecords) Records(_ context.Context, f inspect.RecordFilter) (inspect.RecordList, error) {
	part, page := inspect.Window(all, f.Offset, f.Limit)
	return inspect.RecordList{Records: part, Page: page}, nil
}

// RecordChanges implements [inspect.RecordsOf].
func (manyRecords) RecordChanges(context.Context, int) (changes inspect.Delta[inspect.Record], err error) {
	return changes, nil
}

// measureRecords measures the list of many records, without what a publisher adds.
func measureRecords(r *measure.Report) error {
	all := make(manyRecords, inspectedRecords)
	for i := range all {
		name := fmt.Sprintf("n%06d.example.org", i)
		all[i] = inspect.Record{
			ID: name, Zone: "example.org", Name: name, Type: "A", State: inspect.RecordPublished,
			Wanted: []string{"192.0.2.1"}, Targets: []string{"192.0.2.1"}, TTL: 300, Objects: []inspect.ObjectRef{{Kind: "Service", Namespace: "shop", Name: name}},
		}
	}
	// A pointer, because offers are compared.
	s := inspect.New(inspect.Config{Offers: []inspect.Offer{{Role: "dns", Records: &all}}})
	handler := s.Handlers()[inspect.Root+"/"]
	r.TitleBeside("", "%d records", len(all))
	for _, path := range []string{inspect.RecordsPath, inspect.RecordsPath + "?offset=99500"} {
		var took []float64
		for range inspections {
			w := httptest.NewRecorder()
			req := httptest.NewRequest(http.MethodGet, path, nil)
			req.RemoteAddr, req.Host = "127.0.0.1:1", "localhost"
			begun := time.Now()
			handler.ServeHTTP(w, req)
			took = append(took, time.Since(begun).Seconds()*1000)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"total":`) {
				return fmt.Errorf("ask for %s: %d", path, w.Code)
			}
		}
		r.AtMost("the whole answer of "+path+", median", "ms", measure.Median(took, measure.Itself), 200)
	}
	return nil
}
