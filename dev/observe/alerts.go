package observe

import "time"

// Alerts returns all alerts. Expressions match series by job and instance, which each target of
// Prometheus has, and show namespace and pod, which the targets of a PodMonitor have.
func Alerts() []Group {
	return []Group{
		{"signpost-process", processAlerts()},
		{"signpost-destination", destinationAlerts()},
		{"signpost-xds", xdsAlerts()},
		{"signpost-controllers", controllersAlerts()},
		{"signpost-dns", dnsAlerts()},
	}
}

// processAlerts are about what all roles share.
func processAlerts() []Alert {
	return []Alert{
		{
			Name: "SignpostDown", Severity: Page, For: 5 * time.Minute,
			Expr:        `up{job=~".*signpost.*"} == 0`,
			Summary:     "Prometheus can't read the metrics of {{ $labels.pod }}: the process is gone, or nobody can see what it does.",
			Description: "Look at the pod with kubectl describe and kubectl logs --previous. If it runs, look at NetworkPolicies and at the port of the metrics.",
		},
		{
			Name: "SignpostNotReady", Severity: Page, For: 5 * time.Minute,
			Expr:        `signpost_ready == 0`,
			Summary:     "{{ $labels.pod }} has not read the cluster yet: it serves nobody and writes nothing.",
			Description: "Run signpost status: it names the kinds that are missing, and why. Mostly a right is missing or the API server can't be reached; signpost check says which.",
		},
		{
			Name: "SignpostNoLeader", Severity: Page, For: 2 * time.Minute,
			Expr:        `max by (job, namespace, name) (leader_election_master_status) == 0`,
			Summary:     "No process holds the Lease {{ $labels.name }}: EndpointSlices or DNS records don't follow the cluster.",
			Description: "Run signpost status, and read leader_election_failures_total: requests for the Lease fail, or another program holds it.",
		},
		{
			Name: "SignpostTwoLeaders", Severity: Page, For: 2 * time.Minute,
			Expr:        `sum by (job, namespace, name) (leader_election_master_status) > 1`,
			Summary:     "{{ $value }} processes act as the leader {{ $labels.name }}: they write the same objects or records.",
			Description: "Compare the namespaces and names of their Leases with signpost status: two releases with different Leases must not have the same work.",
		},
		{
			Name: "SignpostClocksDiffer", Severity: Ticket, For: 10 * time.Minute,
			Expr:        `abs(leader_election_clock_ahead_seconds) > 5`,
			Summary:     "The clock of {{ $labels.pod }} is {{ $value | humanizeDuration }} off the clock of the leader {{ $labels.name }}: if one of them runs too fast, two processes may lead at once.",
			Description: "Synchronize the clocks of both nodes (chronyc tracking). The log of {{ $labels.pod }} says which process leads.",
		},
		{
			Name: "SignpostViewStale", Severity: Page, For: time.Minute,
			Expr:        `max by (job, namespace, pod, instance, kind) (kube_table_stale_seconds{cluster="local"}) > 60`,
			Summary:     "{{ $labels.pod }} has not heard of changes of {{ $labels.kind }} for {{ $value | humanizeDuration }}: clients are told of pods that may be gone.",
			Description: "Find out whether the API server answers (kubectl get --raw /readyz) and whether the pod reaches it. What was read before is served meanwhile.",
		},
		{
			Name: "SignpostForbidden", Severity: Ticket, For: 5 * time.Minute,
			Expr:        `sum by (job, namespace, pod, instance) (increase(rest_client_requests_total{code="403"}[15m])) > 0`,
			Summary:     "The API server refuses requests of {{ $labels.pod }}: what it must not read is neither served nor published.",
			Description: "Run signpost check with the service account (--as): it names each right that is missing, and what doesn't work without it.",
		},
		{
			Name: "SignpostMemoryNearLimit", Severity: Ticket, For: 15 * time.Minute,
			Expr:        `(go_memstats_sys_bytes - go_memstats_heap_released_bytes) / go_gc_gomemlimit_bytes > 0.95`,
			Summary:     "{{ $labels.pod }} uses {{ $value | humanizePercentage }} of the memory that it may use: it gets slow, and may be killed.",
			Description: "Raise the memory limit of the container. If the number of objects didn't grow, see who asks for so much: signpost streams.",
		},
	}
}

func destinationAlerts() []Alert {
	return []Alert{
		{
			Name: "SignpostStreamsBehind", Severity: Ticket, For: 10 * time.Minute,
			Expr:        `histogram_quantile(0.5, sum by (job, namespace, pod, instance, le) (rate(destination_slowest_stream_lag_seconds_bucket[5m]))) > 15`,
			Summary:     "A proxy that asks {{ $labels.pod }} is {{ $value | humanizeDuration }} behind: it may send requests to pods that are gone.",
			Description: "signpost streams --behind names the client. Its proxy doesn't read: look at the CPU of that pod and at its node.",
		},
		{
			Name: "SignpostPanics", Severity: Ticket,
			Expr: `sum by (job, namespace, pod, instance) (increase(grpc_server_panics_total[15m])) > 0` +
				` or sum by (job, namespace, pod, instance) (increase(controller_panics_total[15m])) > 0` +
				` or sum by (job, namespace, pod, instance) (increase(signpost_dns_panics_total[15m])) > 0` +
				` or sum by (job, namespace, pod, instance) (increase(http_server_panics_total[15m])) > 0`,
			Summary:     "Calls, requests, Services or records of {{ $labels.pod }} failed because of a mistake in Signpost; the rest goes on.",
			Description: "The log has the stack. Please report it, and go back to the version before if it happens again and again.",
		},
		{
			Name: "SignpostClientsRefused", Severity: Ticket,
			Expr:        `sum by (job, namespace, pod, instance, reason) (increase(destination_refused_total[15m])) > 0`,
			Summary:     "{{ $labels.pod }} refused clients because of the limit {{ $labels.reason }}: they have no endpoints, or old ones.",
			Description: "Proxies don't meet the limits. The log names the client; raise the limit only if the client is meant to do that.",
		},
		{
			Name: "SignpostCatalogLag", Severity: Ticket, For: 10 * time.Minute,
			Expr:        `histogram_quantile(0.99, sum by (job, namespace, pod, instance, le) (rate(endpointslices_informer_lag_seconds_bucket[10m]))) > 10`,
			Summary:     "{{ $labels.pod }} learns of changed EndpointSlices {{ $value | humanizeDuration }} late: clients are told of pods that are gone.",
			Description: "Compare with the other replicas. If only one is late, it lacks CPU; if all are, the API server is slow to send changes.",
		},
		{
			Name: "SignpostLinkedClusterDown", Severity: Page, For: 5 * time.Minute,
			Expr:        `linked_cluster_state{state!="synced"} == 1`,
			Summary:     "{{ $labels.pod }} can't follow the linked cluster {{ $labels.cluster }} ({{ $labels.state }}): its endpoints stay as they were.",
			Description: "signpost clusters says why. Check the API server of that cluster, the way to it, and the kubeconfig in the Secret of the link.",
		},
		{
			Name: "SignpostLinkUnusable", Severity: Ticket, For: 5 * time.Minute,
			Expr:        `linked_cluster_secret_unusable == 1`,
			Summary:     "The Secret {{ $labels.secret }} should link a cluster and can't be used: Services of that cluster have no endpoints here.",
			Description: "An Event about the Secret and signpost clusters say what is wrong with it. Make it again with linkerd multicluster link.",
		},
	}
}

func xdsAlerts() []Alert {
	return []Alert{
		{
			Name: "SignpostXdsRefused", Severity: Ticket,
			// A process that starts refuses connections (unsynced), and of a node only what is too long is
			// ignored (node).
			Expr:        `sum by (job, namespace, pod, instance, reason) (increase(xds_refused_total{reason!~"unsynced|node"}[15m])) > 0`,
			Summary:     "{{ $labels.pod }} refused xDS clients because of the limit {{ $labels.reason }}: they have no endpoints, or old ones.",
			Description: "Look up the limit in docs/xds.md, and the client in signpost streams -o wide. For identity, check the tokens or certificates of the clients.",
		},
		{
			Name: "SignpostXdsRejected", Severity: Ticket, For: 15 * time.Minute,
			Expr:        `sum by (job, namespace, pod, instance, type) (xds_rejected) > 0`,
			Summary:     "Clients of {{ $labels.pod }} reject {{ $value }} resources ({{ $labels.type }}): they don't follow changes of these Services.",
			Description: "signpost streams --search rejected names them. The Event XdsRejected of the Service has the client's reason: mostly an annotation that this client doesn't know.",
		},
		{
			Name: "SignpostXdsBehind", Severity: Ticket, For: 10 * time.Minute,
			Expr:        `max by (job, namespace, pod, instance) (xds_lag_seconds) > 15`,
			Summary:     "An xDS client of {{ $labels.pod }} is {{ $value | humanizeDuration }} behind: it may send requests to pods that are gone.",
			Description: "signpost streams --behind names the client. It doesn't read: look at the CPU of that pod and at its node.",
		},
		{
			Name: "SignpostXdsPaced", Severity: Ticket, For: 30 * time.Minute,
			Expr:        `sum by (job, namespace, pod, instance) (rate(xds_paced_seconds_sum[10m])) > 0.5`,
			Summary:     "{{ $labels.pod }} holds back changes of endpoints most of the time: clients learn of pods up to 2 s late.",
			Description: "Large Services with many clients change all the time. Raise --xds-egress-budget if the network has room, or add replicas.",
		},
	}
}

func controllersAlerts() []Alert {
	return []Alert{
		{
			Name: "SignpostEndpointsUnwritten", Severity: Page, For: 2 * time.Minute,
			Expr:        `max by (job, namespace, controller) (controller_oldest_unwritten_seconds) > 60`,
			Summary:     "A change for the controller {{ $labels.controller }} has waited for {{ $value | humanizeDuration }}: a Service sends traffic to old pods.",
			Description: "The log names the Service and the error. Writes fail, or are held back because the view of the cluster is stale; signpost status says which.",
		},
		{
			Name: "SignpostWritesFailing", Severity: Ticket, For: 10 * time.Minute,
			Expr: `sum by (job, namespace, controller) (rate(controller_writes_total{result="error"}[10m]))` +
				` / sum by (job, namespace, controller) (rate(controller_writes_total[10m])) > 0.1`,
			Summary:     "{{ $value | humanizePercentage }} of the writes of the controller {{ $labels.controller }} fail: Services get new pods late.",
			Description: "The log has the error of each. Look for missing rights with signpost check, for webhooks that refuse, and for quotas.",
		},
		{
			Name: "SignpostWritesContested", Severity: Ticket,
			Expr:        `sum by (job, namespace, controller) (increase(controller_repairs_total[15m])) > 10`,
			Summary:     "Somebody else changes what the controller {{ $labels.controller }} writes: Services lose pods for moments, again and again.",
			Description: "Find the second writer in metadata.managedFields of the EndpointSlices. Mostly kube-controller-manager still runs its own controllers: signpost check controllers.",
		},
	}
}

func dnsAlerts() []Alert {
	return []Alert{
		{
			Name: "SignpostZoneFailing", Severity: Page, For: 5 * time.Minute,
			Expr:        `signpost_dns_zone_failing > 0 or signpost_dns_provider_failing > 0`,
			Summary:     "{{ $labels.pod }} can't read or change {{ with $labels.zone }}the zone {{ . }}{{ else }}any zone{{ end }}: names keep their old addresses.",
			Description: "signpost records and the log have the answer of the server. Check that it runs, the network path to it, and the credentials: signpost check.",
		},
		{
			Name: "SignpostNamesFailing", Severity: Ticket, For: 15 * time.Minute,
			Expr:        `signpost_dns_names_failing > 0 or signpost_dns_names_repeating > 0`,
			Summary:     "{{ $value }} names in the zone {{ $labels.zone }} can't be changed: they are missing, or have old addresses.",
			Description: "signpost records {{ $labels.zone }} --state failing names them with the answer of the provider; signpost explain NAME says what to change.",
		},
		{
			Name: "SignpostNamesPending", Severity: Ticket, For: 15 * time.Minute,
			Expr:        `signpost_dns_names_pending > 0`,
			Summary:     "{{ $value }} names in the zone {{ $labels.zone }} have waited for long: they are missing, or have old addresses.",
			Description: "The provider is slow or throttles, or a source was not read yet. signpost records {{ $labels.zone }} --state pending says what each waits for.",
		},
		{
			Name: "SignpostDeletionsHeld", Severity: Ticket, For: 5 * time.Minute,
			Expr:        `signpost_dns_deletions_held > 0`,
			Summary:     "{{ $value }} deletions or updates in the zone {{ $labels.zone }} wait for somebody to approve them: these names still point to what is gone.",
			Description: "signpost approve lists what is held. Approve it, or find out why so many objects don't ask for their names any more.",
		},
		{
			Name: "SignpostBudgetStoreFailing", Severity: Ticket, For: 10 * time.Minute,
			Expr:        `signpost_dns_budget_store_failing > 0`,
			Summary:     "{{ $labels.pod }} can't store what was deleted and approved: after a restart, deletions wait for a whole window of their budget.",
			Description: "The log names the ConfigMap and why: a right is missing, or it is immutable. signpost check names the right.",
		},
		{
			Name: "SignpostPublishersUnled", Severity: Page, For: 5 * time.Minute,
			Expr:        `signpost_dns_publishers_unled > 0`,
			Summary:     "Nobody publishes for {{ $value }} publishers of {{ $labels.pod }}: the leader has other publishers or settings under the same Lease.",
			Description: "signpost status names both. Give each installation a Lease of its own, or all replicas the same settings.",
		},
		{
			Name: "SignpostSourceFailing", Severity: Ticket, For: 10 * time.Minute,
			Expr:        `signpost_dns_source_failing > 0`,
			Summary:     "The source {{ $labels.source }} can't be read: its records stay unchanged, and nothing is deleted.",
			Description: "The log says why; mostly a right or a CustomResourceDefinition is missing. signpost check names it.",
		},
		{
			Name: "SignpostProviderThrottled", Severity: Ticket, For: 15 * time.Minute,
			Expr:        `sum by (job, namespace, pod, instance, host) (increase(external_dns_http_request_duration_seconds_count{status="429"}[15m])) > 0`,
			Summary:     "{{ $labels.host }} refuses requests because there are too many: new names come late.",
			Description: "Other programs may use the same account. Give each its own, ask for a higher limit, or publish fewer zones with one publisher.",
		},
		{
			Name: "SignpostPublisherSilent", Severity: Page, For: 5 * time.Minute,
			Expr: `time() - (external_dns_controller_last_reconcile_timestamp_seconds > 0) > 1800` +
				` unless on (job, instance) (leader_election_master_status{name=~".*dns.*"} == 0)`,
			Summary:     "{{ $labels.pod }} has not looked at its zones for {{ $value | humanizeDuration }}: names don't follow the cluster.",
			Description: "signpost status shows whether the publisher waits for a source. If it hangs, send the log and /debug/pprof/goroutine, then restart the pod.",
		},
	}
}
