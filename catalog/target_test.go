package catalog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

var aDeployment, aCronJob = OwnerRef{"Deployment", "web"}, OwnerRef{"CronJob", "nightly"}

var rootOwnerCases = map[string]struct {
	workload *Workload
	owners   []Object
	want     OwnerRef // with the kind as metric labels have it
}{
	"T26 ReplicaSet of a Deployment": {
		workload: pod("a", owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", aDeployment)}, want: OwnerRef{"deployment", "web"},
	},
	"T26 ReplicaSet missing": {workload: pod("a", owned("ReplicaSet", "rs")), want: OwnerRef{"replicaset", "rs"}},
	"T26 Job missing":        {workload: pod("a", owned("Job", "j")), want: OwnerRef{"job", "j"}},
	"T26 ReplicationController": {
		workload: pod("a", owned("ReplicationController", "rc")), want: OwnerRef{"replicationcontroller", "rc"},
	},
	"T26 no owner": {workload: pod("a"), want: OwnerRef{"pod", "a"}},
	"T26 Job of a CronJob": {
		workload: pod("a", owned("Job", "j")), owners: []Object{owner("Job", "j", aCronJob)}, want: OwnerRef{"cronjob", "nightly"},
	},
	"T26 ReplicaSet with an unsupported parent": {
		workload: pod("a", owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", OwnerRef{"Rollout", "web"})}, want: OwnerRef{"replicaset", "rs"},
	},
	"ReplicaSet of a Job": {
		workload: pod("a", owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", OwnerRef{"Job", "j"})}, want: OwnerRef{"job", "j"},
	},
	"ReplicaSet of a StatefulSet": {
		workload: pod("a", owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", OwnerRef{"StatefulSet", "s"})}, want: OwnerRef{"statefulset", "s"},
	},
	"ReplicaSet of a DaemonSet": {
		workload: pod("a", owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", OwnerRef{"DaemonSet", "d"})}, want: OwnerRef{"daemonset", "d"},
	},
	"ReplicaSet without an owner": {
		workload: pod("a", owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", OwnerRef{})}, want: OwnerRef{"replicaset", "rs"},
	},
	"Job without an owner": {
		workload: pod("a", owned("Job", "j")), owners: []Object{owner("Job", "j", OwnerRef{})}, want: OwnerRef{"job", "j"},
	},
	"Job of an owner of any kind": {
		workload: pod("a", owned("Job", "j")), owners: []Object{owner("Job", "j", OwnerRef{"Workflow", "w"})}, want: OwnerRef{"workflow", "w"},
	},
	"StatefulSet, whatever owns it": {
		workload: pod("a", owned("StatefulSet", "s")), owners: []Object{owner("StatefulSet", "s", aDeployment)}, want: OwnerRef{"statefulset", "s"},
	},
	"an owner of the same name and another kind": {
		workload: pod("a", owned("ReplicaSet", "x")), owners: []Object{owner("Job", "x", aDeployment)}, want: OwnerRef{"replicaset", "x"},
	},
	"an owner in another namespace": {
		workload: pod("a", owned("ReplicaSet", "rs")),
		owners:   []Object{&Owner{LocalCluster, "other", OwnerRef{"ReplicaSet", "rs"}, aDeployment}}, want: OwnerRef{"replicaset", "rs"},
	},
	"an owner in another cluster": {
		workload: pod("a", owned("ReplicaSet", "rs")),
		owners:   []Object{&Owner{"west", testNamespace, OwnerRef{"ReplicaSet", "rs"}, aDeployment}}, want: OwnerRef{"replicaset", "rs"},
	},
	"E14 ExternalWorkload":              {workload: workload(externalKey("vm"), owned("WorkloadGroup", "g")), want: OwnerRef{"workloadgroup", "g"}},
	"ExternalWorkload without an owner": {workload: workload(externalKey("vm"))},
	"ExternalWorkload of a ReplicaSet": {
		workload: workload(externalKey("vm"), owned("ReplicaSet", "rs")), owners: []Object{owner("ReplicaSet", "rs", aDeployment)}, want: OwnerRef{"replicaset", "rs"},
	},
}

// The root owner of a workload (T26, §A.4).
func TestRootOwner(t *testing.T) {
	for name, tc := range rootOwnerCases {
		t.Run(name, func(t *testing.T) {
			got := stateOf(tc.owners...).target(tc.workload, nil, &Options{})
			if diff := cmp.Diff(tc.want, OwnerRef{got.OwnerKind, got.OwnerName}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

type targetCase struct {
	workload    *Workload
	servers     []Object
	opaque, not []uint16
	skipped     []uint16
}

// The opaque and skipped ports of §2.8: annotation, default list, Servers (§2.7).
func TestTargetPorts(t *testing.T) {
	ports := []WorkloadPort{{Name: "http", Port: 8080, HostPort: 30080}, {Name: "sidecar", Port: 9000}}
	base := pod("a", labelled("app", "web"), func(w *Workload) { w.Ports = ports })
	with := func(edit func(*Workload)) *Workload { w := *base; edit(&w); return &w }
	annotated := func(s string) *Workload { return with(func(w *Workload) { w.OpaquePorts = portsOf(s) }) }
	elsewhere := opaqueServer("s", 80, &Selector{})
	elsewhere.Namespace = "other"
	named := opaqueServer("s", 0, having("app", "web"))
	named.PortName = "http"
	transparent := opaqueServer("s", 80, having("app", "web"))
	transparent.Opaque = false
	external := opaqueServer("s", 80, nil)
	external.ExternalWorkloads = &Selector{}

	for name, tc := range map[string]targetCase{
		"no annotation: the default list":        {workload: base, opaque: []uint16{25, 3306}, not: []uint16{80, 8080}},
		"an empty annotation: none":              {workload: annotated(""), not: []uint16{25, 3306}},
		"E12 an annotation replaces the default": {workload: annotated("4242"), opaque: []uint16{4242}, not: []uint16{25}},
		"G8 skipped":                             {workload: with(func(w *Workload) { w.SkipInboundPorts = portsOf("8080,1-2") }), skipped: []uint16{1, 2, 8080}},
		"G9 a Server adds":                       {workload: base, servers: []Object{opaqueServer("s", 80, having("app", "web"))}, opaque: []uint16{25, 80}},
		"Q16 several Servers":                    {workload: base, servers: []Object{opaqueServer("s", 80, &Selector{}), opaqueServer("u", 81, having("app", "web"))}, opaque: []uint16{80, 81}},
		"a Server beside an empty list":          {workload: annotated(""), servers: []Object{opaqueServer("s", 80, &Selector{})}, opaque: []uint16{80}, not: []uint16{25}},
		"Q17 a Server with a named port":         {workload: base, servers: []Object{named}, opaque: []uint16{8080}, not: []uint16{9000, 30080}},
		"a Server that selects others":           {workload: base, servers: []Object{opaqueServer("s", 80, having("app", "db"))}, not: []uint16{80}},
		"W10 a Server elsewhere":                 {workload: base, servers: []Object{elsewhere}, not: []uint16{80}},
		"a Server of another protocol":           {workload: base, servers: []Object{transparent}, not: []uint16{80}},
		"a Server of the other kind":             {workload: base, servers: []Object{external}, not: []uint16{80}},
		"a Server of an ExternalWorkload": {
			workload: workload(externalKey("vm")), servers: []Object{external}, opaque: []uint16{80},
		},
	} {
		t.Run(name, tc.run)
	}
}

func (tc targetCase) run(t *testing.T) {
	o := &Options{DefaultOpaquePorts: append(make(PortSet, 0, 8), PortRange{25, 25}, PortRange{3306, 3306})}
	st := stateOf(tc.servers...)
	servers, _ := st.selecting(&workloadEntry{workload: tc.workload})
	got := st.target(tc.workload, servers, o)
	checkPorts(t, "Opaque", got.Opaque, tc.opaque, tc.not)
	checkPorts(t, "Skipped", got.Skipped, tc.skipped, append(tc.opaque, tc.not...))
	// The default list is shared, so no target may write beyond its end.
	if extra := o.DefaultOpaquePorts[:cap(o.DefaultOpaquePorts)][2:]; extra[0] != (PortRange{}) {
		t.Errorf("the default list was written to: %v", extra)
	}
}

func checkPorts(t *testing.T, what string, ask func(uint16) bool, yes, no []uint16) {
	t.Helper()
	for _, p := range yes {
		if !ask(p) {
			t.Errorf("%s(%d) = false, want true", what, p)
		}
	}
	for _, p := range no {
		if ask(p) {
			t.Errorf("%s(%d) = true, want false", what, p)
		}
	}
}
