package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/signpostd/signpost/internal/settings"
	"github.com/signpostd/signpost/kube/linked"
)

// clustersLimit is the most bytes of an answer that are read.
const clustersLimit = 16 << 20

// ClustersOptions are the flags of `signpost clusters`.
type ClustersOptions struct {
	Addr, Output string
	Timeout      time.Duration
}

// Clusters asks a signpost which clusters it is linked with, and prints them to out.
func Clusters(ctx context.Context, o ClustersOptions, out io.Writer) error {
	if o.Timeout <= 0 {
		return settings.Usagef("--timeout=%v: must be more than 0s", o.Timeout)
	}
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	text, err := askClusters(ctx, o.Addr)
	if err != nil {
		return err
	}
	var all []linked.Status
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("ask %s for its clusters: %w: is that the admin server of a signpost of this version?", o.Addr, err)
	}
	if o.Output == settings.OutputJSON {
		_, err = out.Write(text)
		return err
	}
	_, err = io.WriteString(out, renderClusters(all, time.Now()))
	return err
}

func askClusters(ctx context.Context, addr string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+linked.StatusPath, nil)
	if err != nil {
		return nil, settings.Usagef("--addr=%s: %w", addr, err)
	}
	// The connection goes to the server directly and is of no use afterwards.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its clusters: %w: give the address of an admin server with --addr", addr, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask %s for its clusters: the answer is %s: give the address of a process with the destination role", addr, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, clustersLimit))
	if err != nil {
		return nil, fmt.Errorf("ask %s for its clusters: %w", addr, err)
	}
	return text, nil
}

// renderClusters returns a table, or a sentence if there are no clusters.
func renderClusters(all []linked.Status, now time.Time) string {
	if len(all) == 0 {
		return "no cluster is linked\n"
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "CLUSTER\tSTATE\tFOR\tOBJECTS\tSECRET\tSERVER\tTRUST DOMAIN\tREASON")
	for _, c := range all {
		columns := []string{
			c.Cluster, string(c.State), now.Sub(c.Since).Round(time.Second).String(), fmt.Sprint(c.Objects),
			c.Secret, c.Server, c.TrustDomain, strings.ReplaceAll(c.Reason, "\n", " "),
		}
		for i := range columns {
			if columns[i] == "" {
				columns[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(columns, "\t"))
	}
	w.Flush() // a strings.Builder takes everything
	return text.String()
}
