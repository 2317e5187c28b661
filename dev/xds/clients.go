package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signpostd/signpost/dev/clienttest"
	"github.com/signpostd/signpost/dev/xds/caller"
)

// The names of the clients.
const (
	clientGo        = "go"
	clientPython    = "python"
	clientJava      = "java"
	clientNode      = "node"
	clientEnvoyADS  = "envoy-ads"
	clientEnvoyEDS  = "envoy-eds"
	clientEnvoyEDSD = "envoy-delta"
	clientEnvoyCDS  = "envoy-cds"
)

// client is an xDS client. One goroutine uses it at a time.
type client struct {
	name string
	// skipped says why the client doesn't run.
	skipped string
	// speak asks the client for something.
	speak func(context.Context, caller.Request) (caller.Reply, error)
	// target is how the client is asked to call a Service, such as rollout.shop.
	target func(host string) (target string, headers map[string]string)
	grpc   bool // a gRPC client, not Envoy
	// program is the process of a gRPC client.
	program *clienttest.Program
}

// deadline is that of each call.
const deadline = 20 * time.Second

// ask asks a client for something about a Service. The target is the client's, unless the request has one.
func (c *client) ask(ctx context.Context, host string, r caller.Request) (caller.Reply, error) {
	target, headers := c.target(host)
	if r.Target == "" {
		r.Target = target
	}
	if r.Headers == nil {
		r.Headers = map[string]string{}
	}
	maps.Copy(r.Headers, headers)
	if r.Method == "" {
		r.Method = caller.Who
	}
	if r.TimeoutMS == 0 {
		r.TimeoutMS = int(deadline.Milliseconds())
	}
	reply, err := c.speak(ctx, r)
	if err != nil {
		return reply, fmt.Errorf("%s: %w", c.name, err)
	}
	return reply, nil
}

// call makes calls, one after the other.
func (c *client) call(ctx context.Context, host string, count int) (caller.Reply, error) {
	return c.ask(ctx, host, caller.Request{Do: caller.Call, Count: count})
}

// startClients starts the clients that the options name, or all. One that isn't installed is skipped.
func (c *cluster) startClients(ctx context.Context, o options, scenes []scene) ([]*client, error) {
	bootstrap, err := c.writeBootstrap(ctx)
	if err != nil {
		return nil, err
	}
	var list []*client
	for _, name := range []string{clientGo, clientPython, clientJava, clientNode} {
		list = append(list, c.process(bootstrap, name))
	}
	envoys, err := c.startEnvoy(ctx, scenes)
	if err != nil {
		return nil, err
	}
	list = append(list, envoys...)
	if o.clients == "" {
		return list, nil
	}
	var chosen []*client
	for _, name := range strings.Split(o.clients, ",") {
		i := slices.IndexFunc(list, func(c *client) bool { return c.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no client %s", name)
		}
		chosen = append(chosen, list[i])
	}
	return chosen, nil
}

// writeBootstrap writes the bootstrap file of the gRPC clients, as users make it (case 62). It has
// a second server.
func (c *cluster) writeBootstrap(ctx context.Context) (path string, err error) {
	path = filepath.Join(c.Dir, "bootstrap.json")
	return path, bootstrapFile(ctx, path, "--server", "dns:///"+serviceAddress,
		"--fallback", "dns:///"+replicaAddress(replicas-1), "--authority", authority)
}

// bootstrapFile writes what `signpost xds bootstrap` prints with these flags.
func bootstrapFile(ctx context.Context, path string, flags ...string) error {
	text, err := exec.CommandContext(ctx, "bin/signpost", append([]string{"xds", "bootstrap"}, flags...)...).Output()
	if err != nil {
		return fmt.Errorf("make the bootstrap file %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o600)
}

// commandOf returns the command of a gRPC client.
func commandOf(name string) *exec.Cmd {
	switch name {
	case clientPython:
		return exec.Command("bin/xds-clients/python/bin/python", "dev/xds/python/client.py")
	case clientJava:
		return exec.Command("java", "-Xmx256m", "-cp", "bin/xds-clients/java/classes:bin/xds-clients/java/jars/*", "Client")
	case clientNode:
		return exec.Command("node", "bin/xds-clients/node/client.js")
	}
	return exec.Command("/proc/self/exe", "client")
}

// notInstalled returns why a client can't run: the reason that install.sh has left, or none.
func notInstalled(name string) string {
	text, err := os.ReadFile(filepath.Join("bin", "xds-clients", name+".missing"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// process starts a gRPC client that speaks by standard input and output. The variables are added to
// its environment.
func (c *cluster) process(bootstrap, name string, variables ...string) *client {
	made := &client{name: name, grpc: true, skipped: notInstalled(name), target: func(host string) (string, map[string]string) {
		return fmt.Sprintf("xds:///%s:%d", host, grpcPort), nil
	}}
	if made.skipped != "" {
		return made
	}
	cmd := commandOf(name)
	cmd.Env = append(append(os.Environ(), "GRPC_XDS_BOOTSTRAP="+bootstrap), variables...)
	in, err := cmd.StdinPipe()
	if err != nil {
		made.skipped = err.Error()
		return made
	}
	out, writes, err := os.Pipe()
	if err != nil {
		made.skipped = err.Error()
		return made
	}
	cmd.Stdout = writes
	c.started++
	p, err := c.Launch(fmt.Sprintf("client-%s-%d", name, c.started), cmd)
	_ = writes.Close()
	if err != nil {
		made.skipped = err.Error()
		return made
	}
	made.program = p
	made.speak = (&dialogue{program: p, requests: json.NewEncoder(in), replies: json.NewDecoder(out)}).ask
	return made
}

// dialogue is the standard input and output of a client.
type dialogue struct {
	program  *clienttest.Program
	requests *json.Encoder
	replies  *json.Decoder
}

// ask sends a request and waits for its reply. When the context ends the client is ended, too.
func (d *dialogue) ask(ctx context.Context, r caller.Request) (reply caller.Reply, err error) {
	stop := context.AfterFunc(ctx, func() { d.program.Stop(0) })
	defer stop()
	if err := d.requests.Encode(r); err != nil {
		return reply, fmt.Errorf("ask for %s: %w", r.Do, err)
	}
	if err := d.replies.Decode(&reply); errors.Is(err, io.EOF) {
		<-d.program.Exited()
		return reply, d.program.Ended()
	} else if err != nil {
		return reply, fmt.Errorf("read the reply to %s: %w", r.Do, err)
	}
	return reply, nil
}

// each does something with all clients that run, at the same time. It returns the errors by the
// names of the clients.
func each(clients []*client, do func(*client) error) map[string]error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	failed := map[string]error{}
	for _, c := range clients {
		if c.skipped != "" {
			continue
		}
		wg.Go(func() {
			if err := do(c); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[c.name] = err
			}
		})
	}
	wg.Wait()
	return failed
}
