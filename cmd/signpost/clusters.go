package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/signpostd/signpost/kube/linked"
)

// clustersLimit bounds the answer that is read.
const clustersLimit = 16 << 20

// clustersOptions are the flags of the command clusters.
type clustersOptions struct {
	Addr, Output string
	Timeout      time.Duration
}

func newClustersCommand(s streams) *cobra.Command {
	o := clustersOptions{Output: outputTable}
	cmd := &cobra.Command{
		Use:   "clusters",
		Short: "Show the clusters that a running signpost is linked with",
		Long: `Show the clusters that a running signpost is linked with, and the Secrets that
were meant to link one and can't be used. The admin server of its destination role
answers, so that what is shown is what that process knows; from outside of the
cluster, forward the port first:

  kubectl port-forward --namespace linkerd deploy/linkerd-destination 9996 &

A cluster is connecting until everything has been read once, then synced, and stale
while it can't be read: what was known last is served then.`,
		Example: `  signpost clusters
  signpost clusters --addr 10.42.0.7:9996 -o json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return runClusters(cmd.Context(), o, s) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.Addr, "addr", "127.0.0.1:9996", "`address` of the admin server")
	flags.VarP(&choiceValue{target: &o.Output, allowed: []string{outputTable, outputJSON}}, "output", "o", "`format`: table or json")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Second, "how long to wait for the answer")
	return cmd
}

func runClusters(ctx context.Context, o clustersOptions, s streams) error {
	if o.Timeout <= 0 {
		return usagef("--timeout=%v: must be more than 0s", o.Timeout)
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
	if o.Output == outputJSON {
		_, err = s.out.Write(text)
		return err
	}
	_, err = io.WriteString(s.out, renderClusters(all, time.Now()))
	return err
}

func askClusters(ctx context.Context, addr string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+clustersPath, nil)
	if err != nil {
		return nil, usagef("--addr=%s: %w", addr, err)
	}
	// The server is asked directly, and the connection is of no use afterwards.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its clusters: %w: name the admin server with --addr", addr, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask %s for its clusters: the answer is %s: only the destination role knows clusters", addr, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, clustersLimit))
	if err != nil {
		return nil, fmt.Errorf("ask %s for its clusters: %w", addr, err)
	}
	return text, nil
}

// renderClusters returns a table, or a sentence when there is nothing to show.
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
