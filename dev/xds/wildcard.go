package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

const (
	// wildServices is how many Services the namespace has at least in the scene, and portsOfShop how
	// many ports each.
	wildServices, portsOfShop = 100, 2
	// warmWithin is how long a change of clusters may take until Envoy uses it. Without endpoints, a
	// cluster warms for 15 seconds.
	warmWithin = 5 * time.Second
)

//go:embed wildcard.yaml.tmpl
var wildTemplate string

// wildEnvoy is an Envoy with a wildcard for clusters. Its namespaces are in its metadata, which is
// added to what `signpost xds bootstrap` prints, or in flags of that command (case 62).
type wildEnvoy struct {
	name, api, metadata     string
	flags                   []string
	admin, routes, clusters string
	// http calls the routes of a Service, and grpc a cluster by its name.
	http, grpc *client
}

func wildEnvoys() []*wildEnvoy {
	return []*wildEnvoy{
		{name: "wild-sotw", api: "GRPC", metadata: "{NAMESPACE: shop}", admin: "127.0.0.1:10101", routes: "127.0.0.1:10102", clusters: "127.0.0.1:10103"},
		{
			name: "wild-delta", api: "DELTA_GRPC", flags: []string{"--namespaces", "shop,none"},
			admin: "127.0.0.1:10111", routes: "127.0.0.1:10112", clusters: "127.0.0.1:10113",
		},
	}
}

// wild lets Envoy get all Clusters of a namespace by a wildcard, SotW and delta. Under load, a Cluster is
// changed, which Envoy must not wait for (case 46), and a Service is created and another one deleted (case
// 47).
func wild(ctx context.Context, st *stage) error {
	if skipped := notInstalled("envoy"); skipped != "" {
		st.say("Envoy: %s", skipped)
		return nil
	}
	kept, old := st.shops[0], st.shops[1]
	for _, s := range []*shop{kept, old} {
		if err := s.open(ctx, "", ""); err != nil {
			return err
		}
	}
	if err := kept.profile(ctx, map[string]any{"dstOverrides": halves(kept, old)}); err != nil {
		return err
	}
	var more []*shop
	defer func() {
		for _, s := range more {
			_ = s.close(context.WithoutCancel(ctx))
		}
	}()
	for i := range wildServices {
		s := st.newShop(0, fmt.Sprintf("wild-%d", i))
		if more = append(more, s); s.create(ctx, nil) != nil {
			return fmt.Errorf("create Service %s", s.name)
		}
	}
	for _, e := range wildEnvoys() {
		if err := e.play(ctx, st, kept, old); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return nil
}

// halves are dstOverrides with equal weights.
func halves(of ...*shop) (list []any) {
	for _, s := range of {
		list = append(list, map[string]any{"authority": wildHost(s), "weight": "500m"})
	}
	return list
}

// wildHost is the name of the Cluster for HTTP of a Service.
func wildHost(s *shop) string { return s.host() + ".svc.cluster.local:80" }

// play starts Envoy, and judges what its calls and its clusters do. The Services are as before when
// it returns.
func (e *wildEnvoy) play(ctx context.Context, st *stage, kept, old *shop) error {
	begun := time.Now()
	if err := e.start(ctx, st, kept); err != nil {
		return err
	}
	err := e.await(ctx, clienttest.StartWithin, "all clusters are warm", func(n stats) bool { return n.active > wildServices*portsOfShop && n.warming == 0 })
	if err != nil {
		return err
	}
	st.say("%s: %d Services warm %.1f s after the start", e.name, wildServices+len(st.shops), time.Since(begun).Seconds())
	for _, c := range []*client{e.http, e.grpc} {
		if err := st.startCalls(ctx, c, kept); err != nil {
			return err
		}
	}
	err = e.changes(ctx, st, kept, old)
	for _, c := range []*client{e.http, e.grpc} {
		r, err2 := c.ask(ctx, kept.host(), caller.Request{Do: caller.Stop})
		if err == nil {
			err = err2
		}
		st.say("%s: %d of %d calls failed, the longest took %.0f ms %v", c.name, r.Failed, r.Calls, r.LongestMS, errorsOf(r))
		if err == nil && (r.Failed > 0 || r.Calls == 0) {
			err = fmt.Errorf("%d of %d calls failed: %v", r.Failed, r.Calls, r.Errors)
		}
	}
	return err
}

// startCalls lets a client make calls at a constant rate, after one that succeeds.
func (st *stage) startCalls(ctx context.Context, c *client, s *shop) error {
	if err := succeeds(ctx, c, s); err != nil {
		return err
	}
	_, err := c.ask(ctx, s.host(), caller.Request{Do: caller.Start, PerSecond: st.rate})
	return err
}

// changes changes Clusters while clients make calls.
func (e *wildEnvoy) changes(ctx context.Context, st *stage, kept, old *shop) error {
	for round := range 3 {
		before, err := envoyStats(ctx, e.admin)
		if err != nil {
			return err
		}
		err = kept.annotate(ctx, "signpost.dev/max-requests", strconv.Itoa(1000+int(time.Now().UnixMilli()%100_000)+round))
		if err != nil {
			return err
		}
		err = e.await(ctx, warmWithin, "the changed clusters are warm", func(n stats) bool {
			return n.modified >= before.modified+portsOfShop && n.warming == 0
		})
		if err != nil {
			return err
		}
	}
	before, err := envoyStats(ctx, e.admin)
	if err != nil {
		return err
	}
	// The routes stop to name the Service before it is deleted.
	if err := kept.reprofile(ctx, nil); err != nil {
		return err
	}
	if err := st.client.CoreV1().Services(namespace).Delete(ctx, old.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	if err := e.await(ctx, warmWithin, "the clusters of the deleted Service end", func(n stats) bool { return n.active == before.active-portsOfShop }); err != nil {
		return err
	}
	if err := clienttest.Pause(ctx, time.Second); err != nil {
		return err
	}
	if err := old.create(ctx, nil); err != nil {
		return err
	}
	err = e.await(ctx, warmWithin, "the clusters of the Service are back", func(n stats) bool { return n.active == before.active && n.warming == 0 })
	if err != nil {
		return err
	}
	if err := kept.reprofile(ctx, halves(kept, old)); err != nil {
		return err
	}
	return clienttest.Pause(ctx, time.Second)
}

// annotate sets an annotation of the Service.
func (s *shop) annotate(ctx context.Context, key, value string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	_, err := s.client.CoreV1().Services(namespace).Patch(ctx, s.name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("annotate Service %s: %w", s.name, err)
	}
	return nil
}

// reprofile changes the ServiceProfile of the Service.
func (s *shop) reprofile(ctx context.Context, overrides []any) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"dstOverrides": overrides}})
	if err != nil {
		return err
	}
	gvr := schema.GroupVersionResource{Group: "linkerd.io", Version: "v1alpha2", Resource: "serviceprofiles"}
	name := s.host() + ".svc.cluster.local"
	if _, err := s.dynamic.Resource(gvr).Namespace(namespace).Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("change ServiceProfile %s: %w", name, err)
	}
	return nil
}

// start starts Envoy, and the clients that call it.
func (e *wildEnvoy) start(ctx context.Context, st *stage, kept *shop) error {
	more, err := e.more(kept)
	if err != nil {
		return err
	}
	p, err := st.launchEnvoy(ctx, e.name, more, append(e.flags, "--server", "dns:///"+serviceAddress)...)
	if err != nil {
		return err
	}
	calls := func(name, target, cluster string) *client {
		return &client{name: e.name + " " + name, speak: new(caller.Caller).Ask, target: func(string) (string, map[string]string) {
			return target, map[string]string{"x-cluster": cluster}
		}}
	}
	e.http = calls("HTTP/1.1", "http://"+e.routes, "")
	e.grpc = calls("gRPC", "passthrough:///"+e.clusters, fmt.Sprintf("%s.svc.cluster.local:%d", kept.host(), grpcPort))
	return awaitEnvoy(ctx, e.admin, p)
}

// more returns what the scene needs in the configuration of Envoy.
func (e *wildEnvoy) more(kept *shop) (string, error) {
	parsed, err := template.New("wildcard").Funcs(template.FuncMap{"address": yamlAddress}).Parse(wildTemplate)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = parsed.Execute(&out, map[string]any{
		"ID": e.name, "Metadata": e.metadata, "API": e.api, "Admin": e.admin, "Routes": e.routes, "Clusters": e.clusters, "RouteName": kept.host() + ":80",
	})
	return out.String(), err
}

// await waits until the clusters of Envoy are as wanted.
func (e *wildEnvoy) await(ctx context.Context, within time.Duration, what string, holds func(stats) bool) error {
	var last stats
	err := clienttest.Await(ctx, within, what, func() bool {
		n, err := envoyStats(ctx, e.admin)
		last = n
		return err == nil && holds(n)
	})
	if err != nil {
		return fmt.Errorf("%w: %+v", err, last)
	}
	return nil
}
