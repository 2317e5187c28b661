package main

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"
)

// TestTakenAddress: the error about an address in use names the setting as the user gave it.
func TestTakenAddress(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// Whoever has the address of the webhook server, it is taken.
	if other, err := net.Listen("tcp", "127.0.0.1:8888"); err == nil {
		defer other.Close()
	}
	const free = "127.0.0.1:0"
	taken, dir := l.Addr().String(), t.TempDir()
	kubeconfig, file := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "signpost.yaml")
	writeFile(t, kubeconfig, []byte(`{apiVersion: v1, kind: Config, current-context: c,
		clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], contexts: [{name: c, context: {cluster: c}}]}`))
	role := func(name string, more ...string) []string {
		return append([]string{name, "--kubeconfig=" + kubeconfig, "--log-level=fatal"}, more...)
	}
	publisher := role("dns", "--source=service", "--provider=inmemory", "--policy=sync")
	for name, test := range map[string]struct {
		args     []string
		variable string // set to the taken address
		fields   string // of the config file
		want     string
	}{
		"flag of the admin server":  {args: role("controllers", "--metrics-addr="+taken), want: "--metrics-addr"},
		"second name of the flag":   {args: role("controllers", "--metrics-address="+taken), want: "--metrics-address"},
		"flag of the inspection":    {args: role("controllers", "--metrics-addr="+free, "--inspect-addr="+taken), want: "--inspect-addr"},
		"flag of the destination":   {args: role("destination", "--addr="+taken), want: "--addr"},
		"flag of xds":               {args: role("xds", "--xds-addr="+taken), want: "--xds-addr"},
		"flag of dns":               {args: append(publisher, "--metrics-address="+taken), want: "--metrics-address"},
		"variable of dns":           {args: publisher, variable: "EXTERNAL_DNS_METRICS_ADDRESS", want: "EXTERNAL_DNS_METRICS_ADDRESS"},
		"webhook server":            {args: append(publisher, "--webhook-server"), want: "--webhook-server"},
		"field of the admin server": {fields: "admin: {address: TAKEN}\ncontrollers: {}", want: "admin.address (FILE:3)"},
		"field of the inspection":   {fields: "admin: {address: FREE}\ninspection: {address: TAKEN}\ncontrollers: {}", want: "inspection.address (FILE:4)"},
		"field of the destination":  {fields: "admin: {address: FREE}\ndestination:\n  addr: TAKEN", want: "destination.addr (FILE:5)"},
		"field of xds":              {fields: "admin: {address: FREE}\nxds:\n  addr: TAKEN", want: "xds.addr (FILE:5)"},
	} {
		t.Run(name, func(t *testing.T) {
			args, replace := test.args, strings.NewReplacer("TAKEN", taken, "FREE", free, "FILE", file)
			if test.fields != "" {
				writeFile(t, file, []byte("apiVersion: signpost.dev/v1alpha1\nkind: Config\n"+replace.Replace(test.fields)))
				args = role("run", "--config="+file)
			}
			if test.variable != "" {
				t.Setenv(test.variable, taken)
			}
			code, _, errText := runCommand(t.Context(), args...)
			want := fmt.Sprintf("signpost: listen on the address of %s: listen tcp ", replace.Replace(test.want))
			if code != exitFailure || !strings.HasPrefix(errText, want) {
				t.Errorf("exit code %d, %q; want %d and %q", code, errText, exitFailure, want)
			}
		})
	}
}

// TestInvalidAddressOfDNS: a value that is no address is reported with the flag or the variable that has it.
func TestInvalidAddressOfDNS(t *testing.T) {
	args := []string{"dns", "--source=service", "--provider=inmemory", "--policy=sync"}
	const want = "=nonsense: must be HOST:PORT, or :PORT for all addresses of the host\n"
	if code, _, errText := runCommand(t.Context(), append(args, "--metrics-address=nonsense")...); code != exitUsage || errText != "signpost: --metrics-address"+want {
		t.Errorf("exit code %d, %s", code, errText)
	}
	t.Setenv("EXTERNAL_DNS_METRICS_ADDRESS", "nonsense")
	if code, _, errText := runCommand(t.Context(), args...); code != exitUsage || errText != "signpost: EXTERNAL_DNS_METRICS_ADDRESS"+want {
		t.Errorf("exit code %d, %s", code, errText)
	}
}
