package settings

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// The flags of spec/destination.md §1.1 with their types and defaults.
const linkerdFlags = `
addr string :8086
cluster-domain string
controller-namespace string linkerd
default-opaque-ports string
enable-endpoint-slices bool true
enable-h2-upgrade bool true
enable-ipv6 bool true
enable-pprof bool false
export-queue-metrics bool true
ext-endpoint-zone-weights bool false
identity-trust-domain string
kubeconfig string
log-format string plain
log-level string info
meshed-http2-client-params string
metrics-addr string :9996
outbound-transport-mode string transparent
stream-queue-capacity int 100
trace-collector string
`

func TestFlagsAreThoseOfLinkerd(t *testing.T) {
	c := Default()
	c.RunsDestination = true
	checkFlags(t, &c, linkerdFlags)
}

// checkFlags checks that a config has the flags of some lines, which have name, type and default. The
// reference of settings and --help have all flags.
func checkFlags(t *testing.T, c *Config, want string) {
	t.Helper()
	flags := pflag.NewFlagSet("flags", pflag.ContinueOnError)
	AddFlags(flags, c.Settings())
	for line := range strings.Lines(strings.TrimSpace(want)) {
		line, got := strings.TrimSpace(line), "none"
		if f := flags.Lookup(strings.Fields(line)[0]); f != nil {
			got = strings.TrimSpace(f.Name + " " + f.Value.Type() + " " + f.DefValue)
		}
		if got != line {
			t.Errorf("flag %s, want %s", got, line)
		}
	}
}

// parseFlags reads a command line of destination or controllers.
func parseFlags(t *testing.T, command string, args ...string) *Config {
	t.Helper()
	c := Default()
	c.RunsDestination, c.RunsControllers, c.RunsXDS = command == "destination", command == "controllers", command == "xds"
	flags := pflag.NewFlagSet(command, pflag.ContinueOnError)
	AddFlags(flags, c.Settings())
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c
}

// What Linkerd's chart passes.
func TestChartFlags(t *testing.T) {
	got := parseFlags(t, "destination",
		"--addr=:8086", "--controller-namespace=linkerd", "--outbound-transport-mode=transport-header",
		"--enable-h2-upgrade=true", "--log-level=info", "--log-format=plain", "--enable-endpoint-slices=true",
		"--cluster-domain=cluster.local", "--identity-trust-domain=cluster.local",
		"--default-opaque-ports=25,587,3306,4444,5432,6379,9300,11211", "--enable-ipv6=false", "--enable-pprof=false",
		`--meshed-http2-client-params={"keep_alive":{"interval":{"seconds":10},"timeout":{"seconds":3},"while_idle":true}}`)
	remarks, err := CheckFlags(got.Sections()...)
	settled := got.Destination.Settled()
	if err != nil || len(remarks) > 0 {
		t.Errorf("CheckFlags: %v, %v; want neither errors nor remarks", remarks, err)
	}
	want := defaultDestination()
	want.OutboundTransportMode = "transport-header"
	want.ClusterDomain, want.IdentityTrustDomain = "cluster.local", "cluster.local"
	want.DefaultOpaquePorts = "25,587,3306,4444,5432,6379,9300,11211"
	want.EnableIPv6 = false
	want.LinkNamespace, want.Leader.ResourceNamespace = "linkerd", "linkerd"
	want.MeshedHTTP2ClientParams = `{"keep_alive":{"interval":{"seconds":10},"timeout":{"seconds":3},"while_idle":true}}`
	if diff := cmp.Diff(want, settled); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if !settled.ForceOpaqueTransport() {
		t.Error("transport-header doesn't force opaque transport")
	}
	params, err := ParseHTTP2Params(settled.MeshedHTTP2ClientParams)
	if err != nil || params.GetKeepAlive().GetInterval().AsDuration() != 10*time.Second || !params.GetKeepAlive().GetWhileIdle() {
		t.Errorf("ParseHTTP2Params: %v, %v", params, err)
	}
}

func TestCheckFlags(t *testing.T) {
	tests := map[string]struct {
		args    []string
		remarks string // as in checkChecked
		err     string
	}{
		"defaults":          {},
		"no domains":        {args: []string{"--cluster-domain=", "--identity-trust-domain="}},
		"odd domains":       {args: []string{"--cluster-domain=a..b", "--identity-trust-domain=Cluster.local."}, remarks: "--cluster-domain must be a domain name in lower case, such as cluster.local, it is used as given, and matches no name\n--identity-trust-domain must be a domain name in lower case, such as cluster.local, it is used as given, and matches no name\n"},
		"odd mode":          {args: []string{"--outbound-transport-mode=x"}, remarks: "--outbound-transport-mode must be transport-header or transparent, transparent is used\n"},
		"odd format":        {args: []string{"--log-format=xml"}, remarks: "--log-format must be plain or json, plain is used\n"},
		"odd ports":         {args: []string{"--default-opaque-ports=25,x,4-3,"}, remarks: "--default-opaque-ports \"x\" is neither a port from 0 to 65535 nor a range LO-HI of such ports, that item is left out\n--default-opaque-ports \"4-3\" is neither a port from 0 to 65535 nor a range LO-HI of such ports, that item is left out\n"},
		"ports and a comma": {args: []string{"--default-opaque-ports=25, 4000-4100,"}},
		"traces":            {args: []string{"--trace-collector=collector:4317"}},
		"traces with TLS":   {args: []string{"--trace-collector=https://collector"}},
		"odd collector":     {args: []string{"--trace-collector=collector"}, remarks: "--trace-collector must be HOST:PORT of an OpenTelemetry collector that takes OTLP over gRPC, or https://HOST:PORT for TLS, no traces are sent\n"},
		"level, upper case": {args: []string{"--log-level=DEBUG"}},
		"text":              {args: []string{"--log-format=text"}},
		"json":              {args: []string{"--log-format=json"}},
		"slices off":        {args: []string{"--enable-endpoint-slices=false", "--enable-ipv6=false"}},
		"no queue":          {args: []string{"--stream-queue-capacity=0"}, err: "--stream-queue-capacity=0: must be at least 1, although it has no effect"},
		"no grace":          {args: []string{"--shutdown-grace=0"}, err: "--shutdown-grace=0s: must be more than 0s"},
		"no namespace":      {args: []string{"--controller-namespace="}, err: `--controller-namespace=: is not a valid name of a namespace: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')`},
		"params not JSON":   {args: []string{"--meshed-http2-client-params=x"}, err: `--meshed-http2-client-params=x: must be JSON such as {"keep_alive":{"interval":{"seconds":10},"timeout":{"seconds":3}}}: invalid character 'x' looking for beginning of value`},
		"params of protojson": {
			args:    []string{`--meshed-http2-client-params={"keepAlive":{}}`},
			remarks: "--meshed-http2-client-params must have the field names of Http2ClientParams, with underscores, such as keep_alive: json: unknown field \"keepAlive\", that field is ignored\n",
		},
		"short lease":    {args: []string{"--leader-elect-lease-duration=10s"}, err: "--leader-elect-lease-duration=10s: a Lease must last at least a second longer than its holder writes: set --leader-elect-lease-duration to more, or --leader-elect-renew-deadline to less"},
		"own namespace":  {args: []string{"--leader-elect-resource-namespace=A"}, err: "--leader-elect-resource-namespace=A: is not a valid name of a namespace: a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
		"not elected":    {args: []string{"--leader-elect=false", "--leader-elect-lease-duration=10s"}},
		"no connections": {args: []string{"--grpc-max-connections=0"}, err: "--grpc-max-connections=0: must be from 1 to 2147483647; for no limit, set a large number"},
		"too many calls": {args: []string{"--grpc-max-concurrent-streams=4294967296"}, err: "--grpc-max-concurrent-streams=4294967296: must be from 1 to 2147483647; for no limit, set a large number"},
		"tiny requests":  {args: []string{"--grpc-max-recv-msg-size=100"}, err: "--grpc-max-recv-msg-size=100: must be from 4096 to 2147483647; for no limit, set a large number"},
		"no time":        {args: []string{"--grpc-request-timeout=10ms"}, err: "--grpc-request-timeout=10ms: must be at least 1s"},
		"two errors":     {args: []string{"--metrics-addr=9996", "--addr=8086"}, err: "--metrics-addr=9996: must be HOST:PORT, or :PORT for all addresses of the host\n--addr=8086: must be HOST:PORT, or :PORT for all addresses of the host"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			// Without these two, every case would have remarks.
			domains := []string{"--cluster-domain=x.test", "--identity-trust-domain=y.test"}
			checkChecked(t, parseFlags(t, "destination", append(domains, tt.args...)...), tt.remarks, tt.err)
		})
	}
}

// checkChecked compares what CheckFlags says. remarks has a line for each remark: the setting, the
// reason, and what happens instead.
func checkChecked(t *testing.T, c *Config, remarks, wantErr string) {
	t.Helper()
	all, err := CheckFlags(c.Sections()...)
	var got strings.Builder
	for _, r := range all {
		got.WriteString(r.setting + " " + r.reason + ", " + r.instead + "\n")
	}
	if diff := cmp.Diff(remarks, got.String()); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantErr, errorText(err)); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestSettled(t *testing.T) {
	o := Destination{OutboundTransportMode: "x"}.Settled()
	if o.OutboundTransportMode != "transparent" || o.ClusterDomain != "cluster.local" || o.IdentityTrustDomain != "cluster.local" || o.ForceOpaqueTransport() {
		t.Errorf("settled: %+v", o)
	}
}

// Every setting has a place of its own in the config file, and the fields of the
// destination section are the flags in camel case.
func TestSettingsHavePlaces(t *testing.T) {
	c := Default()
	c.RunsDestination, c.RunsControllers = true, true
	paths := map[string]bool{}
	for _, s := range c.Settings() {
		if paths[s.Path] {
			t.Errorf("%s is the place of two settings", s.Path)
		}
		paths[s.Path] = true
		field, ok := strings.CutPrefix(s.Path, "destination.")
		if ok && !strings.Contains(field, ".") && !strings.EqualFold(field, strings.ReplaceAll(s.Flag, "-", "")) {
			t.Errorf("--%s is at %s", s.Flag, s.Path)
		}
		if s.Usage == "" {
			t.Errorf("--%s is not explained", s.Flag)
		}
	}
	// Every field of the options can be set.
	for _, part := range c.Sections() {
		if fields := countFields(reflect.TypeOf(part).Elem()); fields != len(part.Settings()) {
			t.Errorf("%d fields of %T, %d settings", fields, part, len(part.Settings()))
		}
	}
}

// countFields counts the fields of a struct and of the structs in it.
func countFields(of reflect.Type) int {
	n := 0
	for i := range of.NumField() {
		if f := of.Field(i); f.Type.Kind() == reflect.Struct {
			n += countFields(f.Type)
			continue
		}
		n++
	}
	return n
}
