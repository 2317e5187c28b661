package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// scene is what all clients play at the same time. Numbers of cases are those of docs/spec/xds.md §11.
type scene struct {
	name string
	// services are the Services that it uses, if not one with its name.
	services []string
	play     func(context.Context, *stage) error
}

// hosts are the names of the Services for clients, without ports.
func (s scene) hosts() (list []string) {
	for _, name := range s.serviceNames() {
		list = append(list, name+"."+namespace)
	}
	return list
}

func (s scene) serviceNames() []string {
	if s.services == nil {
		return []string{s.name}
	}
	return s.services
}

// scenes returns all scenes.
func scenes() []scene {
	return slices.Concat([]scene{
		{"resolve", []string{"resolve", "again"}, resolve},
		{"unknown", nil, unknown},
		{"zero", nil, zero},
		{"latency", nil, latency},
		{"rollout", nil, underLoad(rollout)},
		{"restart", nil, underLoad(restart)},
		{"killed", nil, underLoad(killed)},
		{"apiserver", nil, underLoad(apiServerAway)},
		{"wildcard", []string{"wild", "wild-old"}, wild},
	}, policies(), settings())
}

// choose returns the scenes of a list of names, in the order in which they are played.
func choose(names string) (chosen []scene, err error) {
	if names == "" {
		return scenes(), nil
	}
	wanted := strings.Split(names, ",")
	for _, s := range scenes() {
		if i := slices.Index(wanted, s.name); i >= 0 {
			wanted = slices.Delete(wanted, i, i+1)
			chosen = append(chosen, s)
		}
	}
	if len(wanted) > 0 {
		return nil, fmt.Errorf("there is no scene %s", strings.Join(wanted, ", "))
	}
	return chosen, nil
}

// stage is a scene that is being played.
type stage struct {
	*cluster
	scene   scene
	clients []*client
	shops   []*shop // of the Services of the scene
	rate    int

	mu sync.Mutex
	// table is guarded by mu.
	table *table
}

// play plays the scenes one after the other. A scene that fails ends no other.
func play(ctx context.Context, c *cluster, chosen []scene, clients []*client, rate int) *table {
	t := &table{clients: clients, scenes: chosen, cells: map[cellKey]string{}}
	index := 0
	for _, s := range chosen {
		fmt.Printf("%s\n", s.name)
		st := &stage{cluster: c, scene: s, clients: clients, rate: rate, table: t}
		for _, name := range s.serviceNames() {
			index++
			st.shops = append(st.shops, c.newShop(index, name))
		}
		err := s.play(ctx, st)
		for _, shop := range st.shops {
			err = errors.Join(err, shop.close(ctx))
		}
		if err == nil {
			err = st.undisturbed(ctx)
		}
		if err != nil {
			t.fail(s, err.Error())
		}
		if ctx.Err() != nil {
			break
		}
	}
	return t
}

// undisturbed returns an error if a client has rejected a response, or Envoy waits for endpoints.
func (st *stage) undisturbed(ctx context.Context) error {
	nacks, err := st.metric(ctx, "xds_nacks_total")
	if err != nil {
		return err
	}
	if nacks > 0 {
		return fmt.Errorf("clients have rejected %g responses: see the logs of signpost", nacks)
	}
	if !slices.ContainsFunc(st.clients, func(c *client) bool { return !c.grpc && c.skipped == "" }) {
		return nil
	}
	n, err := envoyStats(ctx, envoyAdmin)
	if err == nil && n.warming > 0 {
		err = fmt.Errorf("%d clusters of Envoy wait for endpoints", n.warming)
	}
	return err
}

// each lets all clients do something at the same time, and adds what comes of it to the table.
func (st *stage) each(do func(*client) (result, error)) {
	failed := each(st.clients, func(c *client) error {
		r, err := do(c)
		if err != nil {
			return err
		}
		st.mu.Lock()
		defer st.mu.Unlock()
		st.table.add(c, st.scene, r)
		return nil
	})
	for _, err := range failed {
		st.table.fail(st.scene, err.Error())
	}
}

// underLoad makes a scene of something that happens while all clients call a Service with four pods.
func underLoad(happen func(context.Context, *stage, *shop) error) func(context.Context, *stage) error {
	return func(ctx context.Context, st *stage) error {
		shop := st.shops[0]
		if err := shop.open(ctx, "", "", "", ""); err != nil {
			return err
		}
		if err := st.begin(ctx, shop); err != nil {
			return err
		}
		err := happen(ctx, st, shop)
		if err == nil {
			err = clienttest.Pause(ctx, time.Second)
		}
		st.each(func(c *client) (result, error) {
			r, err := c.ask(ctx, shop.host(), caller.Request{Do: caller.Stop})
			return st.judge(shop, r), err
		})
		return err
	}
}

// begin lets all clients call the Service, at a constant rate, after a first call that succeeds.
func (st *stage) begin(ctx context.Context, s *shop) error {
	failed := each(st.clients, func(c *client) error {
		if err := succeeds(ctx, c, s); err != nil {
			return err
		}
		_, err := c.ask(ctx, s.host(), caller.Request{Do: caller.Start, PerSecond: st.rate})
		return err
	})
	for _, err := range failed {
		return err
	}
	return nil
}

// judge returns what a client did under load. It must have called each pod that is ready in the end.
func (st *stage) judge(s *shop, r caller.Reply) result {
	out := result{cell: failures(r), details: errorsOf(r)}
	if r.Failed > 0 {
		out.problem = fmt.Sprintf("%d of %d calls failed", r.Failed, r.Calls)
	}
	for _, pod := range s.names() {
		if r.By[pod] == 0 {
			out.problem = "no call reached " + pod
		}
	}
	return out
}

// succeeds calls until a call succeeds.
func succeeds(ctx context.Context, c *client, s *shop) error {
	return clienttest.Await(ctx, deadline, "a call of "+c.name+" to "+s.host()+" succeeds", func() bool {
		r, err := c.call(ctx, s.host(), 1)
		return err == nil && r.Failed == 0
	})
}
