package observe

// Dashboards returns all dashboards.
func Dashboards() []Dashboard {
	return []Dashboard{
		{
			Name: "destination", Title: "Signpost: destination", Description: "What proxies are told, and how soon.",
			Rows: []Row{
				{"Streams", []Panel{
					{"Open streams", "Proxies that listen, by method.", "short", []Query{{`sum by (pod, method) (destination_open_streams{SEL})`, "{{pod}} {{method}}"}}},
					{"How far the slowest stream is behind", "High values mean that a proxy doesn't read.", "s", []Query{
						{`histogram_quantile(0.5, sum by (pod, le) (rate(destination_slowest_stream_lag_seconds_bucket{SEL}[$__rate_interval])))`, "{{pod}} half of the time"},
						{`histogram_quantile(0.99, sum by (pod, le) (rate(destination_slowest_stream_lag_seconds_bucket{SEL}[$__rate_interval])))`, "{{pod}} 99 % of the time"},
					}},
					{"Messages sent", "Messages to proxies, by method.", "ops", []Query{{`sum by (pod, grpc_method) (rate(grpc_server_msg_sent_total{SEL}[$__rate_interval]))`, "{{pod}} {{grpc_method}}"}}},
				}},
				{"What goes wrong", []Panel{
					{"Ended calls that failed", "By status code; Canceled and OK are left out.", "ops", []Query{
						{`sum by (grpc_code) (rate(grpc_server_handled_total{SEL, grpc_code!~"OK|Canceled"}[$__rate_interval]))`, "{{grpc_code}}"},
					}},
					{"Refused clients", "By limit. Proxies don't meet the limits.", "ops", []Query{{`sum by (reason) (rate(destination_refused_total{SEL}[$__rate_interval]))`, "{{reason}}"}}},
					{"Unread responses", "Clients that don't read. Those that hold too much are disconnected.", "bytes", []Query{{`sum by (pod) (destination_unread_bytes{SEL})`, "{{pod}}"}}},
					{"Merged updates", "A slow client gets one difference in place of several. Nothing is lost.", "ops", []Query{
						{`sum by (pod) (rate(endpoint_updates_queue_overflow{SEL}[$__rate_interval]))`, "{{pod}} Get"},
						{`sum by (pod) (rate(profile_updates_queue_overflow{SEL}[$__rate_interval]))`, "{{pod}} GetProfile"},
						{`sum by (pod) (rate(endpoint_profile_updates_queue_overflow{SEL}[$__rate_interval]))`, "{{pod}} GetProfile of addresses"},
					}},
				}},
				{"View of the cluster", []Panel{viewStale, viewLag, viewObjects}},
				{"Linked clusters", []Panel{
					{"State", "1 for the state that each linked cluster is in.", "short", []Query{{`max by (cluster, state) (linked_cluster_state{SEL})`, "{{cluster}} {{state}}"}}},
					{"Objects", "Objects of each linked cluster in memory.", "short", []Query{{`max by (cluster) (linked_cluster_objects{SEL})`, "{{cluster}}"}}},
				}},
				processRow,
			},
		},
		{
			Name: "controllers", Title: "Signpost: controllers", Description: "How soon Endpoints and EndpointSlices follow the pods.",
			Rows: []Row{
				{"Writes", []Panel{
					{"Time from a change to its write", "The time of the change is in whole seconds.", "s", []Query{
						{`histogram_quantile(0.5, sum by (controller, le) (rate(controller_transition_to_write_seconds_bucket{SEL}[$__rate_interval])))`, "{{controller}} 50 %"},
						{`histogram_quantile(0.99, sum by (controller, le) (rate(controller_transition_to_write_seconds_bucket{SEL}[$__rate_interval])))`, "{{controller}} 99 %"},
					}},
					{"Writes", "Requests that write objects, by result.", "ops", []Query{
						{`sum by (controller, operation, result) (rate(controller_writes_total{SEL}[$__rate_interval]))`, "{{controller}} {{operation}} {{result}}"},
					}},
					{"Oldest change that waits", "A write failed, or is held back. 0 is good.", "s", []Query{{`max by (controller) (controller_oldest_unwritten_seconds{SEL})`, "{{controller}}"}}},
				}},
				{"Syncs", []Panel{
					{"Syncs", "Services whose objects were computed, by result.", "ops", []Query{
						{`sum by (controller, result) (rate(controller_sync_duration_seconds_count{SEL}[$__rate_interval]))`, "{{controller}} {{result}}"},
					}},
					{"Time of a sync", "99 % of the syncs took less.", "s", []Query{
						{`histogram_quantile(0.99, sum by (controller, le) (rate(controller_sync_duration_seconds_bucket{SEL}[$__rate_interval])))`, "{{controller}}"},
					}},
					{"Work queues", "Services that wait for a worker.", "short", []Query{{`sum by (name) (workqueue_depth{SEL})`, "{{name}}"}}},
				}},
				{"What goes wrong", []Panel{
					{"Repairs", "Syncs that reverted another writer's change.", "ops", []Query{{`sum by (controller) (rate(controller_repairs_total{SEL}[$__rate_interval]))`, "{{controller}}"}}},
					{"Leaders", "1 where a process leads. Each Lease has one leader.", "short", []Query{{`sum by (name, pod) (leader_election_master_status{SEL})`, "{{name}} {{pod}}"}}},
					{"Failed requests for Leases", "", "ops", []Query{{`sum by (name, pod) (rate(leader_election_failures_total{SEL}[$__rate_interval]))`, "{{name}} {{pod}}"}}},
				}},
				{"View of the cluster", []Panel{viewStale, viewLag, viewObjects}},
				processRow,
			},
		},
		{
			Name: "dns", Title: "Signpost: DNS", Description: "What is published, and what isn't.", ByPublisher: true,
			Rows: []Row{
				{"Names", []Panel{
					{"Record sets", "What objects ask for, and what the zones have.", "short", []Query{
						{`sum by (publisher) (external_dns_source_endpoints_total{SEL})`, "asked for {{publisher}}"},
						{`sum by (publisher) (external_dns_registry_endpoints_total{SEL})`, "in the zones {{publisher}}"},
					}},
					{"Names that are not as they should be", "0 is good.", "short", []Query{
						{`sum by (zone) (signpost_dns_names_pending{SEL})`, "{{zone}} pending"},
						{`sum by (zone) (signpost_dns_names_failing{SEL})`, "{{zone}} failing"},
						{`sum by (zone) (signpost_dns_deletions_held{SEL})`, "{{zone}} held"},
					}},
					{"Zones, sources and providers that fail", "1 while one can't be read or changed.", "short", []Query{
						{`max by (zone) (signpost_dns_zone_failing{SEL})`, "zone {{zone}}"},
						{`max by (source) (signpost_dns_source_failing{SEL})`, "source {{source}}"},
						{`max by (publisher) (signpost_dns_provider_failing{SEL})`, "provider {{publisher}}"},
					}},
				}},
				{"Provider", []Panel{
					{"Time of a batch of changes", "99 % took less.", "s", []Query{
						{`histogram_quantile(0.99, sum by (zone, result, le) (rate(signpost_dns_apply_duration_seconds_bucket{SEL}[$__rate_interval])))`, "{{zone}} {{result}}"},
					}},
					{"Batches of changes", "By zone and result.", "ops", []Query{{`sum by (zone, result) (rate(signpost_dns_apply_duration_seconds_count{SEL}[$__rate_interval]))`, "{{zone}} {{result}}"}}},
					{"Requests of providers over HTTP", "By status.", "ops", []Query{
						{`sum by (host, status) (rate(external_dns_http_request_duration_seconds_count{SEL}[$__rate_interval]))`, "{{host}} {{status}}"},
					}},
				}},
				{"What goes wrong", []Panel{
					{"Failures", "Failures to read or change zones, and to read sources.", "ops", []Query{
						{`sum by (publisher) (rate(external_dns_registry_errors_total{SEL}[$__rate_interval]))`, "zones {{publisher}}"},
						{`sum by (publisher) (rate(external_dns_source_errors_total{SEL}[$__rate_interval]))`, "sources {{publisher}}"},
					}},
					{"Objects that can't be used", "The log and Events name each.", "ops", []Query{{`sum by (publisher) (rate(signpost_dns_object_problems_total{SEL}[$__rate_interval]))`, "{{publisher}}"}}},
					{"Time since a zone was looked at", "", "s", []Query{{`time() - (max by (publisher) (external_dns_controller_last_reconcile_timestamp_seconds{SEL}) > 0)`, "{{publisher}}"}}},
				}},
				{"View of the cluster", []Panel{viewStale, viewObjects}},
				processRow,
			},
		},
	}
}

// Panels that several dashboards have.
var (
	viewStale = Panel{
		"Age of the view", "For how long changes may have been missed. 0 is good.", "s",
		[]Query{{`max by (pod, kind) (kube_table_stale_seconds{SEL, cluster="local"})`, "{{pod}} {{kind}}"}},
	}
	viewLag = Panel{
		"Time from a change to its arrival", "99 % of changes arrive sooner. Times of changes are in whole seconds.", "s",
		[]Query{
			{`histogram_quantile(0.99, sum by (pod, le) (rate(endpointslices_informer_lag_seconds_bucket{SEL}[$__rate_interval])))`, "{{pod}} EndpointSlices"},
			{`histogram_quantile(0.99, sum by (pod, le) (rate(pods_informer_lag_seconds_bucket{SEL}[$__rate_interval])))`, "{{pod}} Pods"},
			{`histogram_quantile(0.99, sum by (pod, le) (rate(services_informer_lag_seconds_bucket{SEL}[$__rate_interval])))`, "{{pod}} Services"},
		},
	}
	viewObjects = Panel{
		"Objects in memory", "", "short",
		[]Query{
			{`max by (pod) (pod_cache_size{SEL, cluster="local"})`, "{{pod}} Pods"},
			{`max by (pod) (endpointslices_cache_size{SEL, cluster="local"})`, "{{pod}} EndpointSlices"},
			{`max by (pod) (service_cache_size{SEL, cluster="local"})`, "{{pod}} Services"},
		},
	}
	processRow = Row{"Process", []Panel{
		{"Memory", "What the limit of Go counts, and the limit.", "bytes", []Query{
			{`sum by (pod) (go_memstats_sys_bytes{SEL} - go_memstats_heap_released_bytes{SEL})`, "{{pod}}"},
			{`min by (pod) (go_gc_gomemlimit_bytes{SEL} < 1e15)`, "{{pod}} limit"},
		}},
		{"CPU", "", "short", []Query{{`sum by (pod) (rate(process_cpu_seconds_total{SEL}[$__rate_interval]))`, "{{pod}}"}}},
		{"Requests to API servers", "By status code.", "ops", []Query{{`sum by (code) (rate(rest_client_requests_total{SEL}[$__rate_interval]))`, "{{code}}"}}},
	}}
)
