package inspectclient

import (
	"context"
	"encoding/json"
	"fmt"

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
// a folder per process. Failed files are included, with their error.
func (c *Client) Everything(ctx context.Context) []File {
	var all []File
	for _, list := range []struct {
		name string
		get  func(context.Context) (output.Result, error)
	}{
		{"streams.json", func(ctx context.Context) (output.Result, error) { return c.Streams(ctx, StreamFilter{}) }},
		{"services.json", func(ctx context.Context) (output.Result, error) { return c.Services(ctx, "", "") }},
		{"records.json", func(ctx context.Context) (output.Result, error) {
			a, _, err := c.Records(ctx, RecordFilter{})
			return a, err
		}},
		{"problems.json", func(ctx context.Context) (output.Result, error) { return c.Problems(ctx, "", "") }},
		{"plans.json", func(ctx context.Context) (output.Result, error) { return c.Plans(ctx, "") }},
	} {
		a, err := list.get(ctx)
		f := File{Name: list.name, Err: err}
		if err == nil {
			f.Text, f.Err = json.MarshalIndent(a.Value, "", " ")
		}
		all = append(all, f)
	}
	for _, p := range c.processes {
		for _, path := range processPaths {
			text, err := c.raw(ctx, p, "", path.path, nil, nil)
			if r := asRefusal(err); r != nil && path.path == "/ready" {
				text, err = r.text, nil // a process that isn't ready says so by its code
			}
			all = append(all, File{Name: fmt.Sprintf("processes/%s/%s", p.Name, path.name), Text: text, Err: err})
		}
	}
	return all
}
