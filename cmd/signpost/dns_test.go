package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/signpostd/signpost/dns/plugins"
)

// emptyRun is a run that needs no cluster.
const emptyRun = "dns --source=empty --provider=inmemory --policy=sync --once --dry-run"

// TestDNSCommand shows that `--once --dry-run` with inmemory succeeds, and that it fails with an unknown
// provider, without a policy, with a bad log format, and if a source fails (case 197).
func TestDNSCommand(t *testing.T) {
	t.Setenv("KUBECONFIG", "nonesuch")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	tests := map[string]struct {
		args string // separated by spaces
		code int
		err  string // the last line of the errors, without its prefix; PROVIDERS stands for all of them
	}{
		"case 197":                    {args: emptyRun + " --inmemory-zone=example.org"},
		"case 197: fake records":      {args: "dns --source=fake --provider=inmemory --inmemory-zone=example.com --policy=sync --once --dry-run --log-level=error"},
		"case 197: unknown provider":  {args: "dns --source=empty --provider=nonesuch --policy=sync --once", code: 2, err: "--provider=nonesuch: unknown: use one of PROVIDERS"},
		"case 197: no policy":         {args: "dns --source=empty --provider=inmemory --once", code: 2, err: "--policy: none given: use sync, upsert-only or create-only (ExternalDNS before 0.22 took sync)"},
		"case 197: bad log format":    {args: emptyRun + " --log-format=xml", code: 2, err: "--log-format=xml: must be text or json"},
		"case 197: failing source":    {args: "dns --source=connector --connector-source-server=127.0.0.1:1 --provider=inmemory --policy=sync --once --dry-run", code: 1},
		"no cluster":                  {args: "dns --source=service --provider=inmemory --policy=sync --once", code: 1},
		"no cluster for a lease":      {args: "dns --source=empty --provider=inmemory --policy=sync --leader-elect", code: 1},
		"once with a lease":           {args: emptyRun + " --leader-elect", code: 2, err: "--once, --leader-elect: a process that publishes once doesn't take part in elections: leave one of them out"},
		"provider that is missing":    {args: "dns --source=empty --provider=oci --policy=sync --once", code: 2, err: "--provider=oci: not built in: run a webhook program for oci beside Signpost and use --provider=webhook --webhook-provider-url=http://localhost:8888 (docs/dns/webhook.md)"},
		"flags that are missing":      {args: emptyRun + " --oci-config-file=f --ovh-enable-cname-relative --godaddy-api-key=hidden"},
		"former flag":                 {args: emptyRun + " --txt-new-format-only", code: 2, err: "unknown flag --txt-new-format-only: removed from ExternalDNS: only the current format is written, and older ones are read: leave the flag out"},
		"settings of the provider":    {args: "dns --source=empty --provider=rfc2136 --policy=sync --once --rfc2136-gss-tsig --rfc2136-insecure", code: 2},
		"unknown flag":                {args: emptyRun + " --polcy=sync", code: 2, err: "unknown flag --polcy: did you mean --policy?"},
		"rates":                       {args: emptyRun + " --kube-api-qps=0", code: 2, err: "--kube-api-qps=0: must be more than 0"},
		"negations":                   {args: emptyRun + " --no-events --no-exclude-unschedulable --no-txt-encrypt-enabled"},
		"negation of what isn't bool": {args: emptyRun + " --no-policy", code: 2, err: "unknown flag --no-policy: did you mean --policy?"},
		"version":                     {args: "dns --version"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			code, _, errText := runCommand(t.Context(), strings.Fields(tt.args)...)
			got := strings.TrimPrefix(lastLine(errText), "signpost: ")
			got = strings.Replace(got, allProviders(), "PROVIDERS", 1)
			if code != tt.code || (tt.err != "" && got != tt.err) || (code != 0 && got == "") {
				t.Errorf("status %d, error %q; want %d, %q", code, got, tt.code, tt.err)
			}
		})
	}
}

// allProviders returns the growing list of providers in errors.
func allProviders() string {
	var names []string
	for _, p := range plugins.Providers() {
		names = append(names, p.Names...)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// TestDNSEnvironment shows that the command reads its environment, and that flags override it.
func TestDNSEnvironment(t *testing.T) {
	t.Setenv("EXTERNAL_DNS_SOURCE", "empty\nempty")
	t.Setenv("EXTERNAL_DNS_PROVIDER", "inmemory")
	t.Setenv("EXTERNAL_DNS_POLICY", "nonesuch")
	t.Setenv("EXTERNAL_DNS_ONCE", "1")
	t.Setenv("EXTERNAL_DNS_INTERVAL", "")
	if code, _, errText := runCommand(t.Context(), "dns", "--policy=sync"); code != 0 {
		t.Errorf("status %d:\n%s", code, errText)
	}
	code, _, errText := runCommand(t.Context(), "dns")
	if want := "--policy=nonesuch: "; code != exitUsage || !strings.Contains(errText, want) {
		t.Errorf("status %d:\n%s", code, errText)
	}
}
