package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// writePlainFile writes a bootstrap file as people write it for other servers: without
// ignore_resource_deletion, and with a zone. It returns the path.
func (st *stage) writePlainFile(zone string) (path string, err error) {
	text, err := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{
			"server_uri": serviceAddress, "channel_creds": []any{map[string]string{"type": "insecure"}}, "server_features": []string{"xds_v3"},
		}},
		"node": map[string]any{"id": "anything", "locality": map[string]string{"zone": zone}},
	})
	if err != nil {
		return "", err
	}
	path = st.path("bootstrap.json")
	return path, os.WriteFile(path, text, 0o600)
}

// dropIn resolves with a bootstrap file that was written for another server, whose names are
// SERVICE.NAMESPACE:PORT: only server_uri is that of Signpost (case 63).
func dropIn(ctx context.Context, st *stage) error {
	if err := st.shops[0].open(ctx, "", ""); err != nil {
		return err
	}
	path, err := st.writePlainFile("k8s")
	if err != nil {
		return err
	}
	clients, end := st.own(path, []string{clientGo, clientPython, clientJava, clientNode})
	defer end()
	st.with(clients, func(c *client) (result, error) {
		return st.succeedsWith(ctx, c, fmt.Sprintf("xds:///%s:%d", st.shops[0].host(), grpcPort))
	})
	return nil
}

// deleted deletes the Service and creates it again: calls fail, and succeed again on the same
// channel of a client without ignore_resource_deletion (case 29).
func deleted(ctx context.Context, st *stage) error {
	s := st.shops[0]
	if err := s.open(ctx, "", ""); err != nil {
		return err
	}
	path, err := st.writePlainFile("k8s")
	if err != nil {
		return err
	}
	clients, end := st.own(path, []string{clientGo})
	defer end()
	for _, c := range clients {
		if err := succeeds(ctx, c, s); err != nil {
			return err
		}
	}
	if err := s.client.CoreV1().Services(namespace).Delete(ctx, s.name, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("delete Service %s: %w", s.name, err)
	}
	begun := time.Now()
	for _, c := range clients {
		if out, err := failsWithin(ctx, c, s, begun); err != nil || out.problem != "" {
			return fmt.Errorf("after the deletion: %s: %w", out.problem, err)
		}
	}
	if err := s.create(ctx, nil); err != nil {
		return err
	}
	begun = time.Now()
	st.with(clients, func(c *client) (result, error) {
		err := succeeds(ctx, c, s)
		return result{cell: fmt.Sprintf("OK %d ms after the creation", time.Since(begun).Milliseconds())}, err
	})
	return nil
}

// sameZone has endpoints with hints for their zones: a client in zone a calls the pods there only,
// and those of the other zones when its own end without a word (case 20).
func sameZone(ctx context.Context, st *stage) error {
	s := st.shops[0]
	s.hinted = true
	if err := s.open(ctx, "a", "a", "b", "c"); err != nil {
		return err
	}
	path, err := st.writePlainFile("a")
	if err != nil {
		return err
	}
	clients, end := st.own(path, []string{clientGo})
	defer end()
	st.with(clients, func(c *client) (result, error) {
		r, err := s.callZones(ctx, c, "a")
		return result{cell: failures(r), details: errorsOf(r)}, err
	})
	for _, b := range s.pods[:2] {
		b.kill()
	}
	begun := time.Now()
	st.with(clients, func(c *client) (out result, err error) {
		if err := succeeds(ctx, c, s); err != nil {
			return out, err
		}
		out.cell = fmt.Sprintf("other zones after %d ms", time.Since(begun).Milliseconds())
		r, err := s.callZones(ctx, c, "b", "c")
		out.details = errorsOf(r)
		return out, err
	})
	return nil
}

// callZones makes calls. All must succeed, and reach these zones and no other.
func (s *shop) callZones(ctx context.Context, c *client, zones ...string) (r caller.Reply, err error) {
	const calls = 100
	err = clienttest.Await(ctx, deadline, fmt.Sprintf("all calls of %s reach the zones %v", c.name, zones), func() bool {
		if r, err = c.call(ctx, s.host(), calls); err != nil || r.Failed > 0 {
			return false
		}
		reached := map[string]int{}
		for _, b := range s.pods {
			reached[b.zone] += r.By[b.name]
		}
		sum := 0
		for _, zone := range zones {
			if reached[zone] == 0 {
				return false
			}
			sum += reached[zone]
		}
		return sum == calls
	})
	return r, err
}
