package coredns

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
)

func TestNames(t *testing.T) {
	l := layout{prefix: "/skydns/"}
	tests := map[string]struct {
		key   string
		strip int
		want  string
	}{
		"record":           {"/skydns/test/example/www/3f31b771", 1, "www.example.test"},
		"exact":            {"/skydns/arpa/in-addr/10/0/0/1", 0, "1.0.0.10.in-addr.arpa"},
		"two labels":       {"/skydns/test/example/www/a/b", 2, "www.example.test"},
		"wildcard":         {"/skydns/test/example/*/3f31b771", 1, "*.example.test"},
		"other prefix":     {"/other/test/example", 0, ""},
		"nothing is left":  {"/skydns/test", 1, ""},
		"strip below zero": {"/skydns/test", -1, ""},
		"empty label":      {"/skydns/test//www", 0, ""},
		"slash at the end": {"/skydns/test/", 0, ""},
		"capital letters":  {"/skydns/test/Example", 0, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := l.name(tt.key, &service{TargetStrip: tt.strip})
			if ok != (tt.want != "") || ok && got != tt.want {
				t.Errorf("name of %s is %q, %v; want %q", tt.key, got, ok, tt.want)
			}
		})
	}
}

// With anything in etcd, each listed record set can be found by its key.
func FuzzEntry(f *testing.F) {
	f.Add("test/example/www/3f31b771", `{"host":"192.0.2.1","ttl":60,"targetstrip":1}`)
	f.Add("arpa/in-addr/10", `{"host":"a.example","text":"x"}`)
	f.Add("", `{"targetstrip":-1}`)
	f.Add("a//b", `null`)
	l := layout{prefix: "/skydns/"}
	f.Fuzz(func(t *testing.T, path, value string) {
		var s service
		if json.Unmarshal([]byte(value), &s) != nil {
			return
		}
		name, ok := l.name(l.prefix+path, &s)
		if !ok {
			return
		}
		if s.TargetStrip == 0 && l.key(name) != l.prefix+path {
			t.Errorf("name %q of %q has the key %q", name, path, l.key(name))
		}
		list := listing{byKey: map[dns.Key]*dns.RecordSet{}}
		list.add(name, &s)
		for _, r := range list.sets {
			if s.value(name, r.Type) != r.Targets[0] {
				t.Errorf("%s is listed with %q, and has %q", r.Type, r.Targets[0], s.value(name, r.Type))
			}
		}
	})
}

func TestDryRunClientOnlyReads(t *testing.T) {
	e := newEtcd(t)
	kv, ctx := dryRun{KV: e.client.KV}, context.Background()
	key := e.prefix + "x"
	_, put := kv.Put(ctx, key, "1")
	_, deleted := kv.Delete(ctx, key)
	_, compacted := kv.Compact(ctx, 1)
	_, done := kv.Do(ctx, clientv3.OpPut(key, "1"))
	_, committed := kv.Txn(ctx).If().Then(clientv3.OpPut(key, "1")).Else(clientv3.OpPut(key, "2")).Commit()
	for name, err := range map[string]error{"Put": put, "Delete": deleted, "Compact": compacted, "Do": done, "Commit": committed} {
		if !errors.Is(err, provider.ErrDryRun) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := kv.Do(ctx, clientv3.OpGet(key)); err != nil {
		t.Errorf("Do of a Get: %v", err)
	}
	if all := e.all(); len(all) != 0 {
		t.Errorf("in etcd: %v", all)
	}
}
