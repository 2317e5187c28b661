package inspectclient

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/signpostd/signpost/app/inspect"
	"github.com/signpostd/signpost/app/output"
)

// File is a response to be stored.
type File struct {
	Name string
	Text []byte
	// Err says why the text is missing or incomplete.
	Err error
}

// processPaths are the paths that each process is queried for separately.
var processPaths = []struct{ path, name string }{
	{"/ready", "ready.txt"}, {"/metrics", "metrics.txt"}, {inspect.StatusPath, "status.json"}, {inspect.ConfigPath, "config.json"},
}

// Everything returns everything that processes provide: merged lists, and the separate responses in
// a folder per process. Failed files are included, with their error. A process that doesn't return
// its status is left out of the lists, so that it costs one timeout for them all.
func (c *Client) Everything(ctx context.Context) []File {
	all := c.everyList(ctx)
	separate := make([]File, len(c.processes)*len(processPaths))
	var group sync.WaitGroup
	for i, p := range c.processes {
		for j, path := range processPaths {
			group.Go(func() {
				text, err := c.raw(ctx, p, "", path.path, nil, nil)
				if r := asRefusal(err); r != nil && path.path == "/ready" {
					text, err = r.text, nil // a process that isn't ready says so by its code
				}
				separate[i*len(processPaths)+j] = File{Name: fmt.Sprintf("processes/%s/%s", p.Name, path.name), Text: text, Err: err}
			})
		}
	}
	group.Wait()
	return append(all, separate...)
}

// everyList returns the merged lists of all processes that return their status.
func (c *Client) everyList(ctx context.Context) []File {
	members, err := c.members(ctx)
	responding := &Client{timeout: c.timeout, notes: c.notes, token: c.token, http: c.http}
	for _, m := range members {
		responding.processes = append(responding.processes, m.Process)
	}
	var all []File
	for _, list := range []struct {
		name string
		get  func(context.Context) (output.Result, error)
	}{
		{"streams.json", func(ctx context.Context) (output.Result, error) { return responding.Streams(ctx, StreamFilter{}) }},
		{"services.json", func(ctx context.Context) (output.Result, error) { return responding.Services(ctx, "", "") }},
		{"records.json", func(ctx context.Context) (output.Result, error) {
			a, _, err := responding.Records(ctx, RecordFilter{})
			return a, err
		}},
		{"problems.json", func(ctx context.Context) (output.Result, error) { return responding.Problems(ctx, "", "") }},
		{"plans.json", func(ctx context.Context) (output.Result, error) { return responding.Plans(ctx, "") }},
	} {
		f := File{Name: list.name, Err: err}
		if err == nil {
			var a output.Result
			if a, f.Err = list.get(ctx); f.Err == nil {
				f.Text, f.Err = json.MarshalIndent(a.Value, "", " ")
			}
		}
		all = append(all, f)
	}
	return all
}
