package main

import (
	"fmt"

	"github.com/signpostd/signpost/dev/lab/witness"
)

// lookupClient is a client with a name, and the replicas that it asks in turn.
type lookupClient struct {
	name     string
	replicas []string
	witness.Client
}

// services are those that clients ask for.
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

// clientsOf returns all clients, with names that faults have as their targets.
func clientsOf() []lookupClient {
	all := append(proxies(), xdsClients()...)
	for i := range all {
		all[i].name = fmt.Sprintf("client-%d", i)
	}
	return all
}

// xdsClients returns clients of xDS that ask for the endpoints of everything, in both variants of the
// protocol: of each replica, and going from one to the other.
func xdsClients() []lookupClient {
	var names []string
	for i, service := range services() {
		names = append(names, path(service, 80))
		if i%3 == 2 {
			names = append(names, path(service, 90))
		}
	}
	var all []lookupClient
	ask := func(call string, replicas ...string) {
		c := lookupClient{replicas: replicas}
		c.Call, c.Names = call, names
		all = append(all, c)
	}
	for i, replica := range replicaNames {
		ask([]string{witness.CallEDS, witness.CallDeltaEDS}[i%2], replica)
	}
	ask(witness.CallEDS, replicaNames...)
	ask(witness.CallDeltaEDS, replicaNames...)
	return all
}

// proxies returns who asks what of the Destination API: each replica is asked for the endpoints of
// everything, some clients go from one replica to the other, and some ask for profiles.
func proxies() []lookupClient {
	var all []lookupClient
	ask := func(call, path, token string, replicas ...string) {
		c := lookupClient{replicas: replicas}
		c.Call, c.Target, c.ContextToken = call, path, token
		// A proxy has one connection for all that it asks.
		c.Connection = fmt.Sprintf("proxy-%d", len(all)%4)
		all = append(all, c)
	}
	for i, service := range services() {
		token := ""
		if i%3 == 1 {
			token = fmt.Sprintf(`{"ns":%q,"nodeName":"node-%d"}`, namespace, i%4)
		}
		for _, replica := range replicaNames {
			ask(witness.CallGet, path(service, 80), token, replica)
		}
		if i%2 == 0 {
			ask(witness.CallGet, path(service, 80), token, replicaNames...)
			ask(witness.CallGetProfile, path(service, 80), token, replicaNames...)
		}
		if i%3 == 2 {
			ask(witness.CallGet, path(service, 90), token, replicaNames[i%2]) // which some Services declare for some time
		}
	}
	return all
}

// numbersOf returns the places of clients, by their names.
func numbersOf(all []lookupClient) map[string]int {
	numbers := map[string]int{}
	for i, c := range all {
		numbers[c.name] = i
	}
	return numbers
}

// connect leads clients to the replicas, through the links.
func (s *stage) connect(all []lookupClient) []witness.Client {
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
