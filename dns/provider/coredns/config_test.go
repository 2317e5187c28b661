package coredns

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/certfiles"
	"github.com/signpostd/signpost/internal/childprocess"
	"github.com/signpostd/signpost/testkit/providertest"
)

func TestPrefix(t *testing.T) {
	p := providertest.Open[*coreDNS](t, providertest.Configure(t, Plugin().New(), "--coredns-prefix=/other", "--coredns-strictly-owned"), input("me"))
	if p.layout.prefix != "/other/" || p.owner != "me" {
		t.Errorf("opened with prefix %q, owner %q", p.layout.prefix, p.owner)
	}
}

func TestOpenErrors(t *testing.T) {
	notPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(notPEM, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		config Config
		owner  string
		env    map[string]string
		want   string
	}{
		"no owner":        {config: Config{Prefix: "/skydns/", StrictlyOwned: true}, want: "--coredns-strictly-owned"},
		"relative prefix": {config: Config{Prefix: "skydns"}, want: "--coredns-prefix"},
		"scheme":          {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "etcd://secret@host"}, want: "ETCD_URLS"},
		"no host":         {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "http://a,https://"}, want: "ETCD_URLS"},
		"two schemes":     {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "http://a, https://b"}, want: "ETCD_URLS"},
		"no CA":           {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "https://a", "ETCD_CA_FILE": "missing"}, want: "ETCD_CA_FILE"},
		"bad CA":          {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "https://a", "ETCD_CA_FILE": notPEM}, want: "ETCD_CA_FILE"},
		"half a pair":     {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "https://a", "ETCD_KEY_FILE": notPEM}, want: "ETCD_CERT_FILE"},
		"bad pair":        {config: Config{Prefix: "/"}, env: map[string]string{"ETCD_URLS": "https://a", "ETCD_KEY_FILE": notPEM, "ETCD_CERT_FILE": notPEM}, want: "ETCD_CERT_FILE"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for k, v := range tt.env {
				t.Setenv(k, v)
			}
			_, err := tt.config.Open(t.Context(), input(tt.owner))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v, want one about %s", err, tt.want)
			}
		})
	}
}

func TestTLSSettings(t *testing.T) {
	t.Setenv("ETCD_URLS", "https://a:2379,https://b:2379")
	t.Setenv("ETCD_TLS_SERVER_NAME", "etcd.example.test")
	for value, want := range map[string]bool{"": false, "no": false, "true": true, "Yes": true, "1": true} {
		t.Setenv("ETCD_TLS_INSECURE", value)
		config, err := clientConfig(certfiles.ClientFiles{})
		if err != nil {
			t.Fatal(err)
		}
		if len(config.Endpoints) != 2 || config.TLS.ServerName != "etcd.example.test" || config.TLS.InsecureSkipVerify != want {
			t.Errorf("ETCD_TLS_INSECURE=%q: %v, %+v", value, config.Endpoints, config.TLS)
		}
	}
}

// The files of --tls-* are for what the environment doesn't name (D16).
func TestTLSFlags(t *testing.T) {
	t.Setenv("ETCD_URLS", "https://a:2379")
	for name, test := range map[string]struct {
		env   map[string]string
		files certfiles.ClientFiles
		want  string
	}{
		"authority":           {files: certfiles.ClientFiles{CA: "missing"}, want: "--tls-ca"},
		"authority, variable": {env: map[string]string{"ETCD_CA_FILE": "missing"}, files: certfiles.ClientFiles{CA: "missing"}, want: "ETCD_CA_FILE"},
		"pair":                {files: certfiles.ClientFiles{Cert: "missing", Key: "missing"}, want: "--tls-client-cert and"},
		"pair, variable":      {env: map[string]string{"ETCD_CERT_FILE": "missing"}, files: certfiles.ClientFiles{Cert: "missing", Key: "missing"}, want: "ETCD_CERT_FILE and"},
	} {
		t.Run(name, func(t *testing.T) {
			for k, v := range test.env {
				t.Setenv(k, v)
			}
			in := input("me")
			in.TLS = test.files
			if _, err := (&Config{Prefix: "/"}).Open(t.Context(), in); err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want one about %s", err, test.want)
			}
		})
	}
}

// A provider can be opened while its etcd is unreachable; then its calls fail.
func TestEtcdAway(t *testing.T) {
	address, err := childprocess.Address()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ETCD_URLS", "http://"+address)
	for name, password := range map[string]string{"without password": "", "with password": "secret"} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ETCD_USERNAME", "somebody")
			t.Setenv("ETCD_PASSWORD", password)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			p, err := (&Config{Prefix: "/skydns/"}).Open(ctx, input("me"))
			if err != nil {
				t.Fatal(err)
			}
			p.(*coreDNS).store.config.DialTimeout = 1
			short, cancelShort := context.WithTimeout(ctx, 1)
			defer cancelShort()
			if _, err := p.Records(short, dns.Zone{}); err == nil || errors.Is(err, provider.ErrCredentials) {
				t.Errorf("Records: %v", err)
			}
			err = p.Apply(short, dns.Zone{}, []dns.Change{create(set("www.example.test", dns.TypeA, "192.0.2.1"))})
			if each := (*provider.ApplyError)(nil); err == nil || errors.As(err, &each) {
				t.Errorf("Apply: %v", err)
			}
		})
	}
}

// A call ends with its context, also while the client authenticates with an etcd that accepts connections and
// doesn't respond. The next call connects again.
func TestUnresponsiveEtcd(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	t.Setenv("ETCD_URLS", "http://"+silent.Addr().String())
	t.Setenv("ETCD_USERNAME", "somebody")
	t.Setenv("ETCD_PASSWORD", "secret")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := (&Config{Prefix: "/skydns/"}).Open(ctx, input("me"))
	if err != nil {
		t.Fatal(err)
	}
	p.(*coreDNS).store.config.DialTimeout = time.Hour
	for range 2 {
		short, cancelShort := context.WithTimeout(ctx, 50*time.Millisecond)
		if _, err := p.Records(short, dns.Zone{}); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "ETCD_URLS") {
			t.Errorf("Records: %v, want that the context of the call has ended, and what to check", err)
		}
		cancelShort()
	}
}

// With authentication, a user without permission to write gets an error, and nothing is
// written.
func TestCredentials(t *testing.T) {
	e := newEtcd(t)
	do := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := t.Context()
	do(e.client.UserAdd(ctx, "root", "rootpass"))
	do(e.client.RoleAdd(ctx, "root"))
	do(e.client.UserGrantRole(ctx, "root", "root"))
	do(e.client.UserAdd(ctx, "reader", "readerpass"))
	do(e.client.RoleAdd(ctx, "reading"))
	do(e.client.RoleGrantPermission(ctx, "reading", e.prefix, clientv3.GetPrefixRangeEnd(e.prefix), clientv3.PermissionType(clientv3.PermRead)))
	do(e.client.UserGrantRole(ctx, "reader", "reading"))
	do(e.client.AuthEnable(ctx))
	defer func() {
		root, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdURL}, Username: "root", Password: "rootpass"})
		do(nil, err)
		defer root.Close()
		do(root.AuthDisable(context.WithoutCancel(ctx)))
		for _, user := range []string{"root", "reader"} {
			do(root.UserDelete(ctx, user))
		}
		do(root.RoleDelete(ctx, "root"))
		do(root.RoleDelete(ctx, "reading"))
	}()
	tests := map[string]struct {
		user, password string
		list, apply    error
	}{
		"may read":       {"reader", "readerpass", nil, provider.ErrCredentials},
		"may all":        {"root", "rootpass", nil, nil},
		"wrong password": {"root", "wrong-secret", provider.ErrCredentials, provider.ErrCredentials},
		"nobody":         {"", "", provider.ErrCredentials, provider.ErrCredentials},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("ETCD_USERNAME", tt.user)
			t.Setenv("ETCD_PASSWORD", tt.password)
			p := e.open(input("me"))
			if _, err := p.Records(ctx, dns.Zone{}); !errors.Is(err, tt.list) {
				t.Errorf("Records: %v, want %v", err, tt.list)
			}
			err := p.Apply(ctx, dns.Zone{}, []dns.Change{create(set(strings.ReplaceAll(name, " ", "-")+".example.test", dns.TypeA, "192.0.2.1"))})
			if !errors.Is(err, tt.apply) || err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("Apply: %v, want %v", err, tt.apply)
			}
		})
	}
}
