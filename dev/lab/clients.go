package main

import (
	"fmt"

	"github.com/signpostd/signpost/dev/lab/witness"
)

// lookupClient is a named client and the replicas that it queries in turn.
type lookupClient struct {
	name     string
	replicas []string
	witness.Client
}

// services returns the names of the Services that clients query.
func services() []string {
	names := []string{"own-0", "own-1", "own-2", "own-3", "mirror-0", "mirror-1", "head-0", "head-1"}
	for i := range 12 {
		names = append(names, fmt.Sprint("web-", i))
	}
	return names
}

func path(service string, port int) string {
	return fmt.Sprintf("%s.%s.svc.cluster.local:%d", service, namespace, port)
}

// clientsOf returns all clients. Their names are targets of faults.
func clientsOf() []lookupClient {
	all := append(proxies(), xdsClients()...)
	for i := range all {
		all[i].name = fmt.Sprintf("client-%d", i)
	}
	return all
}

// xdsClients returns xDS clients that request the endpoints of all Services, in both variants of the
// protocol: one for each replica, and some that alternate between the replicas.
func xdsClients() []lookupClient {
	var names []string
	for i, service := range services() {
		names = append(names, path(service, 80))
		if i%3 == 2 {
			names = append(names, path(service, 90))
		}
	}
	var all []lookupClient
	add := func(call string, replicas ...string) {
		c := lookupClient{replicas: replicas}
		c.Call, c.Names = call, names
		all = append(all, c)
	}
	for i, replica := range replicaNames {
		add([]string{witness.CallEDS, witness.CallDeltaEDS}[i%2], replica)
	}
	add(witness.CallEDS, replicaNames...)
	add(witness.CallDeltaEDS, replicaNames...)
	return all
}

// proxies returns the clients of the Destination API. Each replica has a client for the endpoints of each
// Service. Some clients alternate between the replicas, and some request profiles.
func proxies() []lookupClient {
	var all []lookupClient
	add := func(call, path, token string, replicas ...string) {
		c := lookupClient{replicas: replicas}
		c.Call, c.Target, c.ContextToken = call, path, token
		// A proxy has one connection for all its streams.
		c.Connection = fmt.Sprintf("proxy-%d", len(all)%4)
		all = append(all, c)
	}
	for i, service := range services() {
		token := ""
		if i%3 == 1 {
			token = fmt.Sprintf(`{"ns":%q,"nodeName":"node-%d"}`, namespace, i%4)
		}
		for _, replica := range replicaNames {
			add(witness.CallGet, path(service, 80), token, replica)
		}
		if i%2 == 0 {
			add(witness.CallGet, path(service, 80), token, replicaNames...)
			add(witness.CallGetProfile, path(service, 80), token, replicaNames...)
		}
		if i%3 == 2 {
			add(witness.CallGet, path(service, 90), token, replicaNames[i%2]) // some Services have this port only for some time
		}
	}
	return all
}

// numbersOf returns the index of each client by its name.
func numbersOf(all []lookupClient) map[string]int {
	numbers := map[string]int{}
	for i, c := range all {
		numbers[c.name] = i
	}
	return numbers
}

// connect connects the clients to the replicas through the links.
func (s *fixture) connect(all []lookupClient) []witness.Client {
	var clients []witness.Client
	for _, c := range all {
		links := s.links
		if len(c.Names) > 0 {
			links = s.xdsLinks
		}
		for _, name := range c.replicas {
			c.Replicas = append(c.Replicas, witness.Replica{Name: name, Address: links["client→"+name].Addr()})
		}
		clients = append(clients, c.Client)
	}
	return clients
}
