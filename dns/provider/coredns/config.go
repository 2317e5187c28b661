package coredns

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"golang.org/x/sync/semaphore"

	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/properties"
	"github.com/signpostd/signpost/internal/certfiles"
)

const (
	defaultPrefix = "/skydns/"
	defaultURL    = "http://localhost:2379"
	// operationTimeout limits one operation of etcd.
	operationTimeout = 5 * time.Second
	// keepAlive is how long a connection may be silent before it is tested. 10 s is the least of gRPC. A device
	// in between may drop an idle connection without an answer; TCP would notice that after 15 minutes.
	keepAlive = 10 * time.Second
)

// Config is the settings for CoreDNS. The settings of etcd are environment variables: ETCD_URLS,
// ETCD_USERNAME, ETCD_PASSWORD, and for TLS ETCD_CA_FILE, ETCD_CERT_FILE, ETCD_KEY_FILE,
// ETCD_TLS_SERVER_NAME and ETCD_TLS_INSECURE. The flags --tls-* name files too; the variables take
// precedence.
type Config struct {
	// Prefix is the prefix of all keys.
	Prefix string
	// StrictlyOwned ignores entries of other owners.
	StrictlyOwned bool
}

// Plugin returns the provider of --provider=coredns.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:      []string{"coredns", "skydns"},
		Summary:    "CoreDNS or SkyDNS, through the etcd that it reads",
		Properties: properties.CoreDNS(),
		New:        func() provider.Config { return &Config{Prefix: defaultPrefix} },
	}
}

// Flags implements provider.Config.
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Prefix, "coredns-prefix", c.Prefix, "prefix of the keys in etcd; its address and credentials are in the environment variables ETCD_*")
	flags.BoolVar(&c.StrictlyOwned, "coredns-strictly-owned", c.StrictlyOwned, "write the owner ID into each entry, and ignore entries of other owners")
}

// Open implements provider.Config.
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	if c.StrictlyOwned && in.OwnerID == "" {
		return nil, errors.New("--coredns-strictly-owned: there is no owner ID: give one with --txt-owner-id")
	}
	prefix := strings.TrimSuffix(c.Prefix, "/") + "/"
	if !strings.HasPrefix(prefix, "/") {
		return nil, fmt.Errorf("--coredns-prefix %q: must begin with a slash", c.Prefix)
	}
	client, err := clientConfig(in.TLS)
	if err != nil {
		return nil, err
	}
	s := &store{ctx: ctx, config: client, lock: semaphore.NewWeighted(1)}
	if in.DryRun {
		s.wrap = func(kv clientv3.KV) clientv3.KV { return dryRun{KV: kv} }
	}
	p := &coreDNS{store: s, layout: layout{prefix: prefix}, log: in.Log, budget: in.Budget}
	if c.StrictlyOwned {
		p.owner = in.OwnerID
	}
	return p, nil
}

// clientConfig reads the environment. The files of the flags are used for those that it doesn't
// name.
func clientConfig(flags certfiles.ClientFiles) (clientv3.Config, error) {
	urls := os.Getenv("ETCD_URLS")
	if urls == "" {
		urls = defaultURL
	}
	config := clientv3.Config{
		DialTimeout: operationTimeout, DialKeepAliveTime: keepAlive, DialKeepAliveTimeout: operationTimeout,
		Username: os.Getenv("ETCD_USERNAME"),
		Password: os.Getenv("ETCD_PASSWORD"),
		// Operations return the same errors.
		Logger:             zap.NewNop(),
		MaxCallRecvMsgSize: maxResponse, MaxCallSendMsgSize: maxResponse,
	}
	scheme := ""
	for text := range strings.SplitSeq(urls, ",") {
		text = strings.TrimSpace(text)
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return clientv3.Config{}, errors.New("ETCD_URLS: not a list of URLs: give URLs such as " + defaultURL + ", separated by commas")
		}
		if scheme != "" && scheme != u.Scheme {
			return clientv3.Config{}, errors.New("ETCD_URLS: some URLs begin with http and some with https: use one of the two")
		}
		scheme = u.Scheme
		config.Endpoints = append(config.Endpoints, text)
	}
	if scheme == "https" {
		var err error
		if config.TLS, err = tlsConfig(flags); err != nil {
			return clientv3.Config{}, err
		}
	}
	return config, nil
}

func tlsConfig(flags certfiles.ClientFiles) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: os.Getenv("ETCD_TLS_SERVER_NAME")}
	switch strings.ToLower(os.Getenv("ETCD_TLS_INSECURE")) {
	case "true", "yes", "1":
		// The user has asked for it.
		config.InsecureSkipVerify = true
	}
	const ca, cert, key = "ETCD_CA_FILE", "ETCD_CERT_FILE", "ETCD_KEY_FILE"
	files := certfiles.ClientFiles{CA: os.Getenv(ca), Cert: os.Getenv(cert), Key: os.Getenv(key)}
	settings := certfiles.ClientFiles{CA: ca, Cert: cert, Key: key}
	if files.CA == "" {
		files.CA, settings.CA = flags.CA, provider.TLSFlags().CA
	}
	if files.Cert == "" && files.Key == "" {
		files.Cert, files.Key = flags.Cert, flags.Key
		settings.Cert, settings.Key = provider.TLSFlags().Cert, provider.TLSFlags().Key
	}
	if err := files.AddTo(config, settings); err != nil {
		return nil, err
	}
	return config, nil
}
