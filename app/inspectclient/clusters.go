package inspectclient

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signpostd/signpost/app/output"
	"github.com/signpostd/signpost/kube/linked"
)

// cluster is a linked cluster according to one process.
type cluster struct {
	linked.Status
	Process string `json:"process,omitempty"`
}

// Clusters returns the linked clusters of processes with the role destination or xds.
func (c *Client) Clusters(ctx context.Context) (output.Result, error) {
	members, err := c.having(ctx, destinationRole, xdsRole)
	if err != nil {
		return output.Result{}, err
	}
	responses, err := queryWithRole(c, members, "linked clusters", func(m *member) ([]linked.Status, error) {
		var all []linked.Status
		err := c.call(ctx, m.Process, linked.StatusPath, nil, nil, &all)
		return all, err
	})
	if err != nil {
		return output.Result{}, err
	}
	all := []cluster{}
	for _, a := range responses {
		for _, s := range a.value {
			one := cluster{Status: s}
			if len(members) > 1 {
				one.Process = a.name()
			}
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b cluster) int {
		return cmp.Or(strings.Compare(a.Cluster, b.Cluster), strings.Compare(a.Process, b.Process))
	})
	return clusterResult(all, time.Now()), nil
}

func clusterResult(all []cluster, now time.Time) output.Result {
	columns := "CLUSTER|STATE|FOR|OBJECTS|SECRET|SERVER|TRUST DOMAIN|REASON…"
	if slices.ContainsFunc(all, func(c cluster) bool { return c.Process != "" }) {
		columns += "|PROCESS"
	}
	a := output.List(all, all, columns, func(c cluster) (string, []string) {
		return "cluster/" + c.Cluster, []string{
			c.Cluster, string(c.State), now.Sub(c.Since).Round(time.Second).String(), strconv.Itoa(c.Objects), c.Secret, c.Server, c.TrustDomain, sentence(c.Reason), c.Process,
		}
	})
	if len(all) == 0 {
		a.Text = "no cluster is linked\n"
	}
	return a
}
