package bootstrap

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFile(t *testing.T) {
	for name, tt := range map[string]struct {
		options Options
		want    string // empty for an error
	}{
		"one server": {
			Options{Server: "dns:///signpost-xds.signpost.svc:8087"},
			`{"xds_servers":[{"server_uri":"dns:///signpost-xds.signpost.svc:8087","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3","ignore_resource_deletion"]}],` +
				`"node":{"id":"signpost","locality":{}},"authorities":{}}`,
		},
		"a fallback and an authority": {
			Options{Server: "a:1", Fallback: "b:1", Authorities: []string{"x"}},
			`{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3","ignore_resource_deletion"]},` +
				`{"server_uri":"b:1","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3","ignore_resource_deletion"]}],` +
				`"node":{"id":"signpost","locality":{}},"authorities":{"x":{"client_listener_resource_name_template":"xdstp://x/envoy.config.listener.v3.Listener/%s"}}}`,
		},
		"TLS and a token": {
			Options{Server: "a:1", Files: Files{CA: "/ca", Token: "/token"}},
			`{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"tls","config":{"ca_certificate_file":"/ca"}}],` +
				`"call_creds":[{"type":"jwt_token_file","config":{"jwt_token_file":"/token"}}],"server_features":["xds_v3","ignore_resource_deletion"]}],` +
				`"node":{"id":"signpost","locality":{}},"authorities":{}}`,
		},
		"a client certificate": {
			Options{Server: "a:1", Files: Files{CA: "/ca", Cert: "/cert", Key: "/key"}},
			`{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"tls","config":{"ca_certificate_file":"/ca","certificate_file":"/cert","private_key_file":"/key"}}],` +
				`"server_features":["xds_v3","ignore_resource_deletion"]}],"node":{"id":"signpost","locality":{}},"authorities":{}}`,
		},
		"certificates for endpoints": {
			Options{Server: "a:1", Certs: "/certs/"},
			`{"xds_servers":[{"server_uri":"a:1","channel_creds":[{"type":"insecure"}],"server_features":["xds_v3","ignore_resource_deletion"]}],"node":{"id":"signpost","locality":{}},"authorities":{},` +
				`"certificate_providers":{"default":{"plugin_name":"file_watcher","config":{"ca_certificate_file":"/certs/ca.crt","certificate_file":"/certs/tls.crt","private_key_file":"/certs/tls.key","refresh_interval":"600s"}}}}`,
		},
		"a token without TLS":           {options: Options{Server: "a:1", Files: Files{Token: "/token"}}},
		"a certificate without its key": {options: Options{Server: "a:1", Files: Files{CA: "/ca", Cert: "/cert"}}},
		"no server":                     {options: Options{}},
		"a server with a space":         {options: Options{Server: "a b"}},
		"an authority with a path":      {options: Options{Server: "a:1", Authorities: []string{"x/y"}}},
		"an authority with a port":      {options: Options{Server: "a:1", Authorities: []string{"x:1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := tt.options.File()
			if (err != nil) != (tt.want == "") {
				t.Fatalf("error %v", err)
			}
			if err != nil {
				return
			}
			text, err := json.Marshal(file)
			if err != nil {
				t.Fatal(err)
			}
			var got, want any
			if err := errors.Join(json.Unmarshal(text, &got), json.Unmarshal([]byte(tt.want), &want)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the file (-want +got):\n%s", diff)
			}
		})
	}
}
