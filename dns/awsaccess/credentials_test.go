package awsaccess

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// If the access key in the shared credentials file is replaced, the next request is signed with the new one. A
// file without a whole key leaves the previous one in use, rather than the account of the machine.
func TestReplacedKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "credentials")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": file + ".none", "AWS_SHARED_CREDENTIALS_FILE": file, "AWS_PROFILE": "", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
	} {
		t.Setenv(name, value)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	keyFile := func(key string) string {
		return fmt.Sprintf("[default]\naws_access_key_id = %s\naws_secret_access_key = secret\n[other]\naws_access_key_id = other-%s\naws_secret_access_key = secret\n", key, key)
	}
	for profile, begin := range map[string]string{"": "", "other": "other-"} {
		write(keyFile("first"))
		cfg, err := Access{Region: "eu-north-1", Profile: profile}.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range [][2]string{
			{keyFile("first"), "first"}, {keyFile("second"), "second"}, {"", "second"}, {"[default]\naws_access_key_id = third\n", "second"}, {keyFile("third"), "third"},
		} {
			write(step[0])
			if got, err := cfg.Credentials.Retrieve(t.Context()); err != nil || got.AccessKeyID != begin+step[1] {
				t.Errorf("profile %q: the key is %q, want %q, %v", profile, got.AccessKeyID, begin+step[1], err)
			}
		}
	}
}
