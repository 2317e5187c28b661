package configure

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

// A secret can be read from a file (D22).
func TestReadSecretFiles(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "secret")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name      string
		args      []string
		want, err string
	}{
		{name: "none", want: ""},
		{name: "a file", args: []string{"--pdns-api-key-file=" + file("hunter2\r\n")}, want: "hunter2"},
		{name: "spaces are kept", args: []string{"--pdns-api-key-file=" + file(" hunter 2 ")}, want: " hunter 2 "},
		{name: "both", args: []string{"--pdns-api-key=a", "--pdns-api-key-file=" + file("hunter2")}, err: "--pdns-api-key-file: --pdns-api-key is given, too"},
		{name: "no file", args: []string{"--pdns-api-key-file=testdata/nonesuch"}, err: "--pdns-api-key-file: open testdata/nonesuch"},
		{name: "a directory", args: []string{"--pdns-api-key-file=/"}, err: "is a directory"},
		{name: "empty", args: []string{"--pdns-api-key-file=" + file("\n")}, err: "is empty: write the secret into it"},
		{name: "too much", args: []string{"--pdns-api-key-file=" + file(strings.Repeat("hunter2", secretLimit/7+1))}, err: "has more than 65536 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, flags := parsed(t, test.args...)
			err := ReadSecretFiles(flags)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Fatalf("error %v, want %q", err, test.err)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error %v has the secret", err)
			}
			if got := flags.Lookup("pdns-api-key").Value.String(); err == nil && got != test.want {
				t.Errorf("the key is %q, want %q", got, test.want)
			}
		})
	}
}

// Each secret that Signpost uses can come from a file.
func TestSecretsHaveFiles(t *testing.T) {
	_, flags := parsed(t)
	secrets := 0
	flags.VisitAll(func(f *pflag.Flag) {
		if !provider.IsSecret(f) || !Supported(f) {
			return
		}
		secrets++
		if flags.Lookup(f.Name+secretFileSuffix) == nil {
			t.Errorf("--%s has no flag for a file", f.Name)
		}
	})
	if secrets < 4 {
		t.Errorf("there are %d secrets", secrets)
	}
}

// The password in a URL is masked in the log (D21).
func TestLogAttrsHaveNoPasswords(t *testing.T) {
	_, flags := parsed(t, "--pdns-server=http://user:hunter2@pdns:8081", "--pdns-api-key=hunter2", "--rfc2136-host=a", "--rfc2136-host=http://u:hunter2@b")
	text := ""
	for _, v := range LogAttrs(flags) {
		text += v.(string) + " "
	}
	if strings.Contains(text, "hunter2") || !strings.Contains(text, "http://******@pdns:8081") || !strings.Contains(text, "http://******@b") {
		t.Errorf("shown: %s", text)
	}
}

// ChangedSecrets returns a flag whose file has another secret. A missing or empty file is no
// change.
func TestChangedSecrets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	o, flags := parsed(t, "--pdns-api-key-file="+path)
	if err := ReadSecretFiles(flags); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		text string
		want []string
	}{{"first", nil}, {"", nil}, {"second", []string{"--pdns-api-key-file"}}, {"first\n", nil}} {
		write(step.text)
		if got := o.ChangedSecrets(); !slices.Equal(got, step.want) {
			t.Errorf("after %q: changed %v, want %v", step.text, got, step.want)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if got := o.ChangedSecrets(); got != nil {
		t.Errorf("after its removal: changed %v", got)
	}
}

// CheckSecrets refuses secrets with which the process couldn't start, and no others. It shows none of them.
func TestCheckSecrets(t *testing.T) {
	for name, test := range map[string]struct {
		args      []string
		good, bad string
	}{
		"TSIG": {
			[]string{"--provider=rfc2136", "--rfc2136-host=192.0.2.53", "--rfc2136-host=192.0.2.54", "--rfc2136-tsig-keyname=key", "--rfc2136-tsig-secret-alg=hmac-sha256", "--rfc2136-tsig-secret-file="},
			"c2Vjb25kc2VjcmV0", "second secret",
		},
		"encryption": {
			[]string{"--provider=inmemory", "--txt-encrypt-enabled", "--namespace-domains=a=a.test,b.test", "--txt-encrypt-aes-key-file="},
			strings.Repeat("k", 32), "second secret",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "key")
			write := func(text string) {
				t.Helper()
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(test.good)
			test.args[len(test.args)-1] += path
			o, flags := parsed(t, test.args...)
			if err := ReadSecretFiles(flags); err != nil {
				t.Fatal(err)
			}
			if err := o.CheckSecrets(t.Context()); err != nil {
				t.Errorf("the good secret: %v", err)
			}
			write(test.bad)
			if err := o.CheckSecrets(t.Context()); err == nil || strings.Contains(err.Error(), test.bad) {
				t.Errorf("the bad secret: %v", err)
			}
			if used := o.Secrets(); !slices.Equal(used, []string{test.good}) {
				t.Errorf("the options have the secrets %q", used)
			}
		})
	}
}

// Every flag can be given the value that it has.
func TestCopyValue(t *testing.T) {
	o, _ := parsed(t)
	_, flags := parsed(t)
	flags.SetOutput(io.Discard)
	copied := 0
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		if !Supported(f) {
			return
		}
		if err := copyValue(flags, f); err != nil || flags.Lookup(f.Name).Value.String() != f.Value.String() {
			t.Errorf("--%s: %v, the value is %q, want %q", f.Name, err, flags.Lookup(f.Name).Value, f.Value)
		}
		copied++
	})
	if copied == 0 {
		t.Error("there are no flags")
	}
}
