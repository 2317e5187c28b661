package coredns

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/testkit/providertest"
)

var prefixes atomic.Int64

// etcd is a part of the etcd that a test has for itself.
type etcd struct {
	t      *testing.T
	prefix string
	client *clientv3.Client
}

func newEtcd(t *testing.T) *etcd {
	t.Helper()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcdURL}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return &etcd{t: t, prefix: fmt.Sprintf("/test%d/", prefixes.Add(1)), client: client}
}

func (e *etcd) put(key, value string) {
	e.t.Helper()
	if _, err := e.client.Put(e.t.Context(), e.prefix+key, value); err != nil {
		e.t.Fatal(err)
	}
}

// dump returns all keys and values, the keys without the prefix.
func (e *etcd) dump(ctx context.Context) (map[string]string, error) {
	got, err := e.client.Get(ctx, e.prefix, clientv3.WithPrefix())
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, kv := range got.Kvs {
		all[strings.TrimPrefix(string(kv.Key), e.prefix)] = string(kv.Value)
	}
	return all, nil
}

func (e *etcd) all() map[string]string {
	e.t.Helper()
	all, err := e.dump(e.t.Context())
	if err != nil {
		e.t.Fatal(err)
	}
	return all
}

func input(owner string) provider.Input {
	return provider.Input{
		OwnerID: owner, Domains: dns.NewDomainFilter(nil, nil), Log: slog.New(slog.DiscardHandler),
		Wrap: func(rt http.RoundTripper) http.RoundTripper { return rt },
	}
}

// open returns a provider over the part of the etcd.
func (e *etcd) open(in provider.Input, strict ...bool) *coreDNS {
	e.t.Helper()
	e.t.Setenv("ETCD_URLS", etcdURL)
	p, err := (&Config{Prefix: e.prefix, StrictlyOwned: slices.Contains(strict, true)}).Open(e.t.Context(), in)
	if err != nil {
		e.t.Fatal(err)
	}
	return p.(*coreDNS)
}

// lookup reads the records of a name as CoreDNS does, without our code.
func (e *etcd) lookup(ctx context.Context, name, recordType string) (providertest.Answer, error) {
	var answer providertest.Answer
	all, err := e.dump(ctx)
	if err != nil {
		return answer, err
	}
	want := strings.Split(strings.ToLower(name), ".")
	for key, value := range all {
		var fields struct {
			Host, Text  string
			TTL         int64
			TargetStrip int
		}
		if err := json.Unmarshal([]byte(value), &fields); err != nil {
			return answer, err
		}
		labels := strings.Split(key, "/")
		slices.Reverse(labels)
		if !slices.Equal(labels[fields.TargetStrip:], want) {
			continue
		}
		found := ""
		switch {
		case recordType == dns.TypeTXT && fields.Text != "":
			found = strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(fields.Text[1 : len(fields.Text)-1])
		case recordType == dns.TypeA && strings.Trim(fields.Host, "0123456789.") == "",
			recordType == dns.TypeAAAA && strings.Contains(fields.Host, ":"):
			found = fields.Host
		case (recordType == dns.TypeCNAME || recordType == dns.TypePTR) && strings.Trim(fields.Host, "0123456789.:abcdef") != "":
			found = fields.Host + "."
		}
		if found != "" {
			answer.Values, answer.TTL = append(answer.Values, found), fields.TTL
		}
	}
	return answer, nil
}
