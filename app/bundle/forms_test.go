package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// secretPod is a pod with secrets in its arguments and variables.
func secretPod() *corev1.Pod {
	return &corev1.Pod{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{
			Args: []string{"dns", "--rfc2136-tsig-secret", "argS3cretVal", "--pdns-api-key=eqS3cretVal", "--short-token=abc", "--webhook-provider-url=http://u:hunter2pass@h/", "--other-passphrase", "otherS3cretVal", "--plain", "plainS3cretVal", "--pdns-api-key-file=/etc/pdns/key", "--one-token=eqS3cretVal-longer", "--last-token"},
			Env: []corev1.EnvVar{
				{Name: "AWS_SECRET_ACCESS_KEY", Value: "wJalrXUtnFEMIK7MDENG"},
				{Name: "DB_DSN", Value: "dsnS3cretVal"},
				{Name: "HCLOUD_KEY", Value: "hcS3cretVal"},
				{Name: "TSIG", Value: "tsigS3cretVal"},
				{Name: "UNHEARD_OF", Value: "unheardS3cret"},
				{Name: "SIGNS", Value: `x&<"signsS3cret`},
				{Name: "POD_NAME", Value: "signpost-0"},
				{Name: "GOMEMLIMIT", Value: "512MiB"},
				{Name: "EXTERNAL_DNS_DOMAIN_FILTER", Value: "example.org"},
				{Name: "AWS_WEB_IDENTITY_TOKEN_FILE", Value: "/var/run/secrets/token"},
				{Name: "PORT", Value: "12345"},
			},
		}},
		EphemeralContainers: []corev1.EphemeralContainer{{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Env: []corev1.EnvVar{{Name: "DEBUG_KEY", Value: "debugS3cret"}}}}},
	}}
}

// tenants S11: 19 of the first 40 of these forms passed the masks.
func TestMasksForms(t *testing.T) {
	m := newMasks([]string{"rfc2136-tsig-secret", "pdns-api-key", "plain"}, []*corev1.Pod{secretPod()})
	for _, test := range []struct{ name, text, secret string }{
		{"argument", `args: argS3cretVal`, "argS3cretVal"},
		{"argument after an equals sign", `x eqS3cretVal y`, "eqS3cretVal"},
		{"argument of a flag that isn't ours", `x otherS3cretVal y`, "otherS3cretVal"},
		{"argument of a secret flag", `x plainS3cretVal y`, "plainS3cretVal"},
		{"argument that begins with another", `x eqS3cretVal-longer y`, "longer"},
		{"variable with signs, in JSON", `"x&<\"signsS3cret"`, "signsS3cret"},
		{"variable with signs, escaped for HTML", `"x\u0026\u003c\"signsS3cret"`, "signsS3cret"},
		{"short argument", `--short-token=abc`, "abc"},
		{"variable", `wJalrXUtnFEMIK7MDENG`, "wJalr"},
		{"variable DSN", `connect dsnS3cretVal`, "dsnS3cretVal"},
		{"variable HCLOUD_KEY", "x hcS3cretVal", "hcS3cretVal"},
		{"variable TSIG", "x tsigS3cretVal", "tsigS3cretVal"},
		{"kubeconfig", "    client-key-data: LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQo=", "LS0tLS1"},
		{"YAML", "token: abcdefghijkl", "abcdefghijkl"},
		{"YAML with quotes", `password: "two words"`, "words"},
		{"JSON", `{"api_key": "jsonS3cret"}`, "jsonS3cret"},
		{"JSON in JSON", `{\"api_key\": \"jsonS3cret\"}`, "jsonS3cret"},
		{"JSON with a quote", `{"secret":"ab\"cdefghS3cret"}`, "S3cret"},
		{"URL with a slash", "https://user:pa/ssS3@host/", "ssS3"},
		{"URL with an at sign", "https://user:p@ssS3cret@host/", "ssS3cret"},
		{"URL with a token", "https://ghp_tokenS3cret@host/", "ghp_tokenS3cret"},
		{"URL in upper case", "HTTPS://user:passS3cret@host", "passS3cret"},
		{"URL with a plus", "postgres+tls://user:passS3cret@h", "passS3cret"},
		{"key of Google", `"private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvS3cret\n-----END PRIVATE KEY-----\n"`, "MIIEvS3cret"},
		{"JWT", "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.sigS3cret", "sigS3cret"},
		{"Basic", "Authorization: Basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNz"},
		{"Negotiate", "Authorization: Negotiate YIIS3cret", "YIIS3cret"},
		{"X-API-Key", "X-API-Key: pdnsS3cret", "pdnsS3cret"},
		{"variable in a text", "CF_API_TOKEN=cfS3cretToken", "cfS3cretToken"},
		{"Azure", "aadClientSecret: azS3cretVal", "azS3cretVal"},
		{"Azure in JSON", `"aadClientSecret":"azS3cretVal"`, "azS3cretVal"},
		{"AccountKey", "AccountKey=azS3cretVal==", "azS3cretVal"},
		{"named.conf", `key "k" { secret "c2VjcmV0UzNjcmV0"; };`, "c2VjcmV0"},
		{"AES key", `txt-encrypt-aes-key: aesS3cretaesS3cret`, "aesS3cret"},
		{"session token", "x-amz-security-token: FwoGZS3cret", "FwoGZS3cret"},
		{"signed URL", "X-Amz-Signature=abcdefS3cret", "abcdefS3cret"},
		{"auth-password", `"auth-password":"pwS3cret"`, "pwS3cret"},
		{"flag in a log", "--rfc2136-kerberos-password kS3cretPw", "kS3cretPw"},
		{"EC key, cut off", "-----BEGIN EC PRIVATE KEY-----\nMHcS3cret", "MHcS3cret"},
		{"PEM in base64", `key: "LS0tLS1CRUdJTiBQUklWQVRFS3cret"`, "LS0tLS1CRUdJTiBQ"},
		{"spaces", "password = spaceS3cret", "spaceS3cret"},
		{"arrow", "password => arrowS3cret", "arrowS3cret"},
		{"attribute of a log", "password=logS3cret", "logS3cret"},
		{"pwd", "pwd=pwdS3cret", "pwdS3cret"},
		{"pass", "pass: passS3cretX", "passS3cretX"},
		{"key ID of AWS", "AKIAIOSFODNN7EXAMPLE", "AKIAIOSF"},

		{"variable with an unknown name", "x unheardS3cret y", "unheardS3cret"},
		{"variable of an ephemeral container", "x debugS3cret y", "debugS3cret"},
		{"Authorization of several words", `Authorization: AWS4-HMAC-SHA256 Credential=x, Signature=fooS3cret`, "fooS3cret"},
		{"Authorization in a Go map", `map[Authorization:[Custom fooS3cret]]`, "fooS3cret"},
		{"Authorization in JSON", `{"Authorization":"Custom a fooS3cret"}`, "fooS3cret"},
		{"JSON in JSON in JSON", `{\\\"password\\\":\\\"one \\\\\\\" twoS3cret\\\"}`, "twoS3cret"},
		{"JSON in JSON with a quote", `{\"password\":\"one \\\" twoS3cret\"}`, "twoS3cret"},
		{"quotes of a shell", `password='two S3cret'`, "S3cret"},
		{"not closed", `password="two S3cret`, "S3cret"},
		{"YAML of two words", "password: two S3cret", "S3cret"},
		{"YAML block", "a:\n  password: |\n    one\n\n    twoS3cret\n  b: c", "twoS3cret"},
		{"flag with quotes", `--pdns-api-key "two S3cret"`, "S3cret"},
		{"flags in a list", `["--pdns-api-key", "listS3cret"]`, "listS3cret"},
		{"list", `"passwords": ["oneS3", "twoS3cret"]`, "twoS3cret"},
		{"query of a URL", "https://h/?a=b&api_key=qS3cret&c=d", "qS3cret"},
		{"SAS of Azure", "https://h/c?sv=1&sig=abS3cret%3D", "abS3cret"},
		{"connection string", "DefaultEndpointsProtocol=https;AccountName=n;AccountKey=keyS3cret/+==;EndpointSuffix=x", "keyS3cret"},
		{"cookie", "Set-Cookie: session=ckS3cret", "ckS3cret"},
		{"token of GitLab", "x glpat-abcdefghijS3cret y", "S3cret"},
		{"rest of a line in JSON", `{"msg":"password: two S3cret","x":1}`, "S3cret"},
		{"number", `{"password": 12345678}`, "12345678"},
	} {
		if out := string(m.mask([]byte(test.text))); strings.Contains(out, test.secret) {
			t.Errorf("%s: %s", test.name, out)
		}
	}
}

// A file that is cut within a secret has no part of it.
func TestCutWithinSecret(t *testing.T) {
	var packed bytes.Buffer
	const text = "the key is "
	a := &archive{tar: tar.NewWriter(&packed), masks: newMasks(nil, []*corev1.Pod{secretPod()}), total: maxTotal - len(text) - 4}
	if err := a.add("log", []byte(text+"hcS3cretVal")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(packed.Bytes(), []byte(text+mask)) || bytes.Contains(packed.Bytes(), []byte("hcS3")) {
		t.Errorf("%q", packed.Bytes())
	}
}

// What people look for in a bundle stays.
func TestMasksLeave(t *testing.T) {
	m := newMasks(nil, []*corev1.Pod{secretPod()})
	for _, text := range []string{
		"signpost-0 published www.example.org in example.org",
		"GOMEMLIMIT 512MiB",
		"file /var/run/secrets/token",
		"file /etc/pdns/key",
		`{"secretName":"linkerd-identity","tokenExpirationSeconds":3600}`,
		"https://host.example:8443/path?a=b",
		`{"kind":"Secret","name":"x"}`,
		`automountServiceAccountToken: false`,
		"level=INFO msg=Serving admin=[::]:9996",
		"12345",
		`secrets "link-east" is forbidden`,
		"1 token: ***",
	} {
		if out := string(m.mask([]byte(text))); out != text {
			t.Errorf("%q became %q", text, out)
		}
	}
}

// JSON stays JSON, so that programs can read a bundle.
func TestMaskedJSONIsJSON(t *testing.T) {
	for _, text := range []string{
		`{"token":"a\\","x":1}`, `{"token":"a\"b","x":{"password":12345678}}`, `{"message":"{\"api_key\": \"x\"}"}`, `{"tokens":["a","b"],"y":[1]}`,
		`{"secret":{"name":"x"},"password":null}`, `{"url":"https://u:p@h/","b":"c"}`, `{"Authorization":"Bearer abcdefghijk"}`, `{"msg":"password = a b","x":1}`,
		`{"msg":"run --token abc","x":1}`, `{"msg":"token: abc def","x":"y"}`,
	} {
		if out := maskForms([]byte(text)); !json.Valid(out) {
			t.Errorf("%s became %s", text, out)
		}
	}
}

func FuzzMask(f *testing.F) {
	for _, text := range []string{`{"token":"a"}`, `password: |`, `--token`, `\\\"password\\\":\\\"`, "https://@", `secret "`} {
		f.Add(text)
	}
	m := newMasks(nil, []*corev1.Pod{secretPod()})
	f.Fuzz(func(t *testing.T, text string) {
		if out := m.mask([]byte(text + " hcS3cretVal")); bytes.Contains(out, []byte("hcS3cretVal")) {
			t.Errorf("%q", out)
		}
	})
}

// Lines without a hint are not searched, so each name of a secret needs one.
func TestNamesHaveHints(t *testing.T) {
	for _, name := range strings.Split(secretWords+`|pass|dsn|sig|key`, "|") {
		name = strings.NewReplacer("[-_]?", "-", "[-_]", "_", `\b`, "").Replace(name)
		line := []byte("--X" + strings.ToUpper(name) + `: "hcS3cretVal"`)
		if !mayName(line) {
			t.Errorf("no hint for %s", name)
		}
	}
	for _, text := range []string{"secret \"x\"", "PASS: x", "\n\n--x-token a\npassword: |\n  a\n"} {
		if out := string(maskForms([]byte(text))); !strings.Contains(out, mask) {
			t.Errorf("%q became %q", text, out)
		}
	}
}
