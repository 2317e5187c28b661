package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfigCommands(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("apiVersion: signpost.dev/v1alpha1\nkind: Config\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "dns:\n  publishers:\n    - {name: a, source: fake, provider: pdns, policy: sync, pdns-api-key: hidden, pdns-server: \"http://user:hidden@localhost:8081\"}\n")
	// Two errors in fields are reported together with some that only the provider and a source detect (B8).
	bad := write("bad.yaml", "log: {levl: info}\ndns:\n  publishers:\n    - name: a\n      source: service\n      provider: rfc2136\n      policy: sync\n    - {name: b, source: ingres, provider: inmemory, policy: sync}\n    - {name: c, source: unstructured, unstructured-resource: widgets, provider: inmemory, policy: sync}\n")
	for name, test := range map[string]struct {
		args string
		code int
		out  []string
		// errs are the lines of the errors, and never must not be in any output.
		errs  []string
		never string
	}{
		"print":         {args: "config print --config " + good, out: []string{"pdns-api-key: '******'", "pdns-server: http://******@localhost:8081", "interval: 1m0s"}, never: "hidden"},
		"print nothing": {args: "config print", code: 2, errs: []string{"--config: none given: name a config file"}},
		"validate":      {args: "config validate " + good + " " + good, out: []string{"ok"}},
		"validate what is bad": {args: "config validate " + bad + " " + good, code: 2, errs: []string{
			bad + ":3: log.levl: unknown field: did you mean level?",
			bad + ":6: dns.publishers[0].rfc2136-host: rfc2136-host must name a DNS server",
			bad + ":6: dns.publishers[0].rfc2136-tsig-secret-alg: rfc2136-tsig-secret-alg is \"\", must be one of ",
			bad + ":10: dns.publishers[1].source: is ingres: unknown: did you mean ingress?",
			bad + ":11: dns.publishers[2].unstructured-resource: source unstructured: unstructured-resource \"widgets\": there is no version",
		}},
		"validate no role": {args: "config validate " + write("none.yaml", "log: {level: debug}\n"), code: 2, errs: []string{
			dir + "/none.yaml:1: no role to run: add the section destination, controllers, dns or xds",
		}},
		"validate nothing": {args: "config validate", code: 2, errs: []string{"no file given: name the config files to validate"}},
		"validate no file": {args: "config validate " + dir + "/none", code: 2, errs: []string{"read the config file: open " + dir + "/none: no such file or directory"}},
		"schema":           {args: "config schema", out: []string{`"$schema": "https://json-schema.org/draft/2020-12/schema"`}},
		"no command":       {args: "config", code: 2, errs: []string{"no command given: use one of those above"}},
		"typo":             {args: "config valdate", code: 2, errs: []string{`unknown command "valdate": did you mean "validate"?`}},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, errText := runCommand(t.Context(), strings.Fields(test.args)...)
			if code != test.code {
				t.Errorf("status %d, want %d: %s", code, test.code, errText)
			}
			for _, want := range test.out {
				if !strings.Contains(out, want) {
					t.Errorf("no %q in\n%s", want, out)
				}
			}
			for _, want := range test.errs {
				if !strings.Contains(errText, "signpost: "+want) {
					t.Errorf("no error %q in\n%s", want, errText)
				}
			}
			if test.never != "" && strings.Contains(out+errText, test.never) {
				t.Errorf("%q is shown:\n%s%s", test.never, out, errText)
			}
		})
	}
}
