package settings

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/signpostd/signpost/controllers"
	"github.com/signpostd/signpost/internal/leader"
)

// Flags that the Kubernetes controller manager has too (spec/endpoints.md §2).
const controllersFlags = `
concurrent-endpoint-syncs int 5
concurrent-service-endpoint-syncs int 5
controllers strings endpoints,endpointslices,mirroring,externalworkloads
endpoint-updates-batch-period duration 0s
endpointslice-updates-batch-period duration 0s
kube-api-burst int 0
kube-api-qps float 0
kubeconfig string
leader-elect bool true
leader-elect-lease-duration duration 15s
leader-elect-renew-deadline duration 10s
leader-elect-retry-period duration 2s
max-endpoints-per-slice int 100
mirroring-concurrent-service-endpoint-syncs int 5
mirroring-endpointslice-updates-batch-period duration 0s
mirroring-max-endpoints-per-subset int 1000
`

func TestControllersFlags(t *testing.T) {
	c := Default()
	c.RunsControllers = true
	checkFlags(t, &c, controllersFlags)
}

func TestControllerNames(t *testing.T) {
	all := join(controllers.Names())
	tests := map[string]struct {
		args []string
		want string // Names, or the error
	}{
		"default":              {want: all},
		"one":                  {args: []string{"--controllers=mirroring"}, want: "mirroring"},
		"in our order":         {args: []string{"--controllers=mirroring, endpoints,"}, want: "endpoints, mirroring"},
		"repeated":             {args: []string{"--controllers=mirroring", "--controllers=endpoints,mirroring"}, want: "endpoints, mirroring"},
		"names of Kubernetes":  {args: []string{"--controllers=endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller"}, want: "endpoints, endpointslices, mirroring"},
		"aliases":              {args: []string{"--controllers=endpoint,endpointslice,endpointslicemirroring"}, want: "endpoints, endpointslices, mirroring"},
		"all":                  {args: []string{"--controllers=*"}, want: all},
		"all but one":          {args: []string{"--controllers=*,-endpoint"}, want: strings.TrimPrefix(all, "endpoints, ")},
		"the first counts":     {args: []string{"--controllers=*,mirroring,-mirroring"}, want: all},
		"none":                 {args: []string{"--controllers="}, want: "no controller to run: name some of " + all},
		"all but all":          {args: []string{"--controllers=-endpoints"}, want: "no controller to run: name some of " + all},
		"one of another":       {args: []string{"--controllers=*,bootstrapsigner"}, want: `unknown controller "bootstrapsigner": use some of ` + all},
		"nearly one":           {args: []string{"--controllers=endpointslces"}, want: `unknown controller "endpointslces": did you mean endpointslices?`},
		"without nearly one":   {args: []string{"--controllers=*,-miroring"}, want: `unknown controller "miroring": did you mean mirroring?`},
		"no dash of the shell": {args: []string{"--controllers=*,--endpoints"}, want: `unknown controller "-endpoints": did you mean endpoints?`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			names, err := parseFlags(t, "controllers", tt.args...).Controllers.Names()
			got := join(names)
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckControllersFlags(t *testing.T) {
	tests := map[string]struct {
		args         []string
		remarks, err string
	}{
		"defaults":       {},
		"of the manager": {args: []string{"--kube-api-qps=20", "--kube-api-burst=30", "--concurrent-endpoint-syncs=100", "--leader-elect-lease-duration=15s"}},
		"burst alone":    {args: []string{"--kube-api-burst=30"}, remarks: "--kube-api-burst has no effect as long as --kube-api-qps is 0, there is no limit\n"},
		"negative qps":   {args: []string{"--kube-api-qps=-1"}, err: "--kube-api-qps=-1: must be a number of requests, or 0 for no limit"},
		"odd qps":        {args: []string{"--kube-api-qps=NaN"}, err: "--kube-api-qps=NaN: must be a number of requests, or 0 for no limit"},
		"unknown":        {args: []string{"--controllers=x"}, err: `--controllers=x: unknown controller "x": use some of ` + join(controllers.Names())},
		"too many":       {args: []string{"--mirroring-concurrent-service-endpoint-syncs=51"}, err: "--mirroring-concurrent-service-endpoint-syncs=51: must be from 1 to 50"},
		"none":           {args: []string{"--concurrent-endpoint-syncs=0"}, err: "--concurrent-endpoint-syncs=0: must be at least 1"},
		"large slices":   {args: []string{"--max-endpoints-per-slice=1001"}, err: "--max-endpoints-per-slice=1001: must be from 1 to 1000"},
		"negative batch": {args: []string{"--endpointslice-updates-batch-period=-1s"}, err: "--endpointslice-updates-batch-period=-1s: must not be negative"},
		"no namespace":   {args: []string{"--leader-elect-resource-namespace=", "--leader-elect=false"}},
		"process too":    {args: []string{"--metrics-addr=9996", "--leader-elect-retry-period=0s"}, err: "--metrics-addr=9996: must be HOST:PORT, or :PORT for all addresses of the host\n--leader-elect-retry-period=0s: must be more than 0s"},
		"port":           {args: []string{"--metrics-addr=:70000"}, err: "--metrics-addr=:70000: the port must be from 0 to 65535"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			checkChecked(t, parseFlags(t, "controllers", tt.args...), tt.remarks, tt.err)
		})
	}
}

// What the options accept, the elector does too, and nothing else.
func TestLeaderOptionsAgreeWithElector(t *testing.T) {
	times := []time.Duration{-1, time.Second, 1500 * time.Millisecond, 2 * time.Second, 2500 * time.Millisecond, 3 * time.Second, 10 * time.Second}
	for _, lease := range times {
		for _, renew := range times {
			for _, retry := range times {
				o := Leader{Elect: true, LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: retry, ResourceName: "a", ResourceNamespace: "b"}
				err := leader.Config{
					Client: fake.NewClientset().CoordinationV1(), Name: "a", Namespace: "b",
					LeaseDuration: lease, RenewDeadline: renew, RetryPeriod: retry,
				}.Validate()
				if found := o.validate(); (len(found) == 0) != (err == nil) {
					t.Errorf("lease %v, renew %v, retry %v: the options say %+v, the elector %v", lease, renew, retry, found, err)
				}
			}
		}
	}
}
