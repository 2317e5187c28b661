package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// The addresses of Envoy.
const (
	envoyAddress = "127.0.0.1:10000"
	envoyAdmin   = "127.0.0.1:10001"
)

//go:embed envoy.yaml.tmpl
var envoyTemplate string

// envoyClient is a way in which Envoy gets endpoints, and what calls it carries (cases 16 and 51).
type envoyClient struct {
	name string
	// source is the eds_config of its clusters. If it is empty, Envoy asks for a cluster by the name
	// of the service when the first request comes (§8.2).
	source string
	// service is the service_name of the cluster of a Service.
	service func(host string) string
	target  string
	http2   bool
}

// envoyClients are the clients that are Envoy.
func envoyClients() []envoyClient {
	const single = "{resource_api_version: V3, api_config_source: {api_type: %s, transport_api_version: V3, grpc_services: [{envoy_grpc: {cluster_name: signpost}}]}}"
	short := func(host string) string { return fmt.Sprintf("%s:%d", host, grpcPort) }
	return []envoyClient{
		{clientEnvoyADS, "{resource_api_version: V3, ads: {}}", short, "passthrough:///" + envoyAddress, true},
		{clientEnvoyEDS, fmt.Sprintf(single, "GRPC"), func(host string) string { return host + ".svc.cluster.local:80" }, "http://" + envoyAddress, false},
		{clientEnvoyEDSD, fmt.Sprintf(single, "DELTA_GRPC"), short, "passthrough:///" + envoyAddress, true},
		{clientEnvoyCDS, "", func(host string) string { return host + ":80" }, "http://" + envoyAddress, false},
	}
}

// envoyCluster is a cluster in the configuration of Envoy.
type envoyCluster struct {
	Name, Service, Source string
	HTTP2                 bool
}

// startEnvoy starts Envoy with clusters for the Services of the scenes, and returns its clients.
func (c *cluster) startEnvoy(ctx context.Context, scenes []scene) (list []*client, err error) {
	skipped := notInstalled("envoy")
	var clusters []envoyCluster
	for _, e := range envoyClients() {
		clusters = append(clusters, e.clusters(scenes)...)
		list = append(list, &client{
			name: e.name, skipped: skipped, speak: new(caller.Caller).Ask,
			target: func(host string) (string, map[string]string) {
				return e.target, map[string]string{"x-cluster": e.cluster(host)}
			},
		})
	}
	if skipped != "" {
		return list, nil
	}
	path := filepath.Join(c.Dir, "envoy.yaml")
	if err := writeEnvoy(path, clusters); err != nil {
		return nil, err
	}
	p, err := c.Launch("envoy", envoyCommand("-c", path))
	if err != nil {
		return nil, err
	}
	if err := awaitEnvoy(ctx, envoyAdmin, p); err != nil {
		return nil, err
	}
	return list, nil
}

// envoyCommand returns the command of an Envoy with one worker: each worker has a round robin of its own.
func envoyCommand(flags ...string) *exec.Cmd {
	return exec.Command("bin/xds-clients/envoy", append(flags, "--concurrency", "1", "--use-dynamic-base-id")...)
}

// launchEnvoy starts Envoy with what `signpost xds bootstrap --envoy` prints with these flags, and
// more of its configuration.
func (st *stage) launchEnvoy(ctx context.Context, name, more string, flags ...string) (*clienttest.Program, error) {
	path := filepath.Join(st.Dir, name+".yaml")
	if err := bootstrapFile(ctx, path, append([]string{"--envoy"}, flags...)...); err != nil {
		return nil, err
	}
	return st.Launch(name, envoyCommand("-c", path, "--config-yaml", more))
}

// awaitEnvoy waits until an Envoy with this admin address is ready.
func awaitEnvoy(ctx context.Context, admin string, p *clienttest.Program) error {
	err := clienttest.Await(ctx, clienttest.StartWithin, "Envoy is ready", func() bool {
		return clienttest.Ready(ctx, admin) == nil
	})
	return errors.Join(err, p.Ended())
}

// cluster returns the name of the cluster of a Service.
func (e envoyClient) cluster(host string) string {
	if e.source == "" {
		return e.service(host)
	}
	return e.name + "/" + host
}

// clusters returns the clusters for the Services of the scenes.
func (e envoyClient) clusters(scenes []scene) (list []envoyCluster) {
	if e.source == "" {
		return nil
	}
	for _, s := range scenes {
		for _, host := range s.hosts() {
			list = append(list, envoyCluster{e.cluster(host), e.service(host), e.source, e.http2})
		}
	}
	return list
}

// writeEnvoy writes the configuration of Envoy.
func writeEnvoy(path string, clusters []envoyCluster) error {
	parsed, err := template.New("envoy").Funcs(template.FuncMap{"address": yamlAddress}).Parse(envoyTemplate)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return parsed.Execute(f, map[string]any{"Listen": envoyAddress, "Admin": envoyAdmin, "Server": serviceAddress, "Clusters": clusters})
}

// yamlAddress returns an address as Envoy writes it.
func yamlAddress(hostPort string) (string, error) {
	host, port, err := net.SplitHostPort(hostPort)
	return fmt.Sprintf("{socket_address: {address: %s, port_value: %s}}", host, port), err
}

// stats are the numbers of clusters of an Envoy, and how many have been changed so far.
type stats struct{ active, warming, modified int }

// envoyStats returns the numbers of clusters of the Envoy with this admin address. Clusters that
// wait for endpoints are warming.
func envoyStats(ctx context.Context, admin string) (n stats, err error) {
	into := map[string]*int{"active_clusters": &n.active, "warming_clusters": &n.warming, "cluster_modified": &n.modified}
	text, err := clienttest.Fetch(ctx, "http://"+admin+"/stats?filter=^cluster_manager\\.")
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "cluster_manager."), ": ")
		if to := into[name]; to != nil && err == nil {
			*to, err = strconv.Atoi(value)
		}
	}
	return n, err
}

// onlyFailurePercentage returns an error unless outlier detection in a Cluster that Envoy has got ejects by
// the percentage of failures only.
func onlyFailurePercentage(ctx context.Context, cluster string) error {
	var dump struct {
		Configs []struct {
			Cluster struct {
				Name     string
				Outliers map[string]any `json:"outlier_detection"`
			}
		}
	}
	// Envoy 1.40 answers a dump of hundreds of Clusters with a text about a failure.
	named := url.Values{"resource": {"dynamic_active_clusters"}, "name_regex": {"^" + regexp.QuoteMeta(cluster) + "$"}}
	text, err := clienttest.Fetch(ctx, "http://"+envoyAdmin+"/config_dump?"+named.Encode())
	if err == nil {
		err = json.Unmarshal(text, &dump)
	}
	if err != nil {
		return fmt.Errorf("read the Clusters of Envoy: %w", err)
	}
	for _, c := range dump.Configs {
		if c.Cluster.Name != cluster {
			continue
		}
		for field, want := range map[string]float64{
			"enforcing_failure_percentage": 100, "enforcing_consecutive_5xx": 0, "enforcing_consecutive_gateway_failure": 0,
			"enforcing_consecutive_local_origin_failure": 0, "enforcing_success_rate": 0,
		} {
			if got, set := c.Cluster.Outliers[field].(float64); !set || got != want {
				return fmt.Errorf("outlier_detection.%s is %v in Cluster %s of Envoy, want %v", field, c.Cluster.Outliers[field], cluster, want)
			}
		}
		return nil
	}
	return fmt.Errorf("no Cluster %s in Envoy", cluster)
}
