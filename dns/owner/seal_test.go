package owner

import (
	"bytes"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The known answer of spec/dns.md §4.2.2.
const (
	knownKey    = ")K_Fy|?Z.64#UuHm`}[d!GC%WJM_fs{_"
	knownSealed = "+lvP8q9KHJ6BS6O81i2Q6DLNdf2JSKy8j/gbZKviTZlGYj7q+yDoYMgkQ1hPn6urtGllM5bfFMcaaHto52otQtiOYrX8990J3kQqg4s47m3bH3Ejl8RSxSSuWJM3HJtPghQzYg0/LSOsdQ0="
	knownPlain  = "heritage=external-dns,external-dns/owner=foo-owner,external-dns/resource=foo-resource"
)

func TestSealKnownAnswer(t *testing.T) {
	s := newTestSealer(t, knownKey)
	plain, nonce, err := s.open(knownSealed)
	if err != nil || plain != knownPlain {
		t.Fatalf("got %q, error %v", plain, err)
	}
	again, err := s.seal(plain, nonce)
	if err != nil || again != knownSealed {
		t.Errorf("case 52: sealed again with its nonce it is\n%s, want\n%s (error %v)", again, knownSealed, err)
	}
}

func TestSeal(t *testing.T) {
	a, b := newTestSealer(t, knownKey), newTestSealer(t, strings.Repeat("k", keySize))
	nonce := bytes.Repeat([]byte{7}, nonceSize)
	sealed, err := a.seal(knownPlain, nonce)
	if err != nil {
		t.Fatal(err)
	}
	other, err := b.seal(knownPlain, nonce)
	if err != nil || other == sealed {
		t.Errorf("case 53: with another key: got the same, or error %v", err)
	}
	plain, back, err := a.open(sealed)
	if err != nil || plain != knownPlain || !bytes.Equal(back, nonce) {
		t.Errorf("case 52: opened: got %q with nonce %x, error %v", plain, back, err)
	}
	for name, text := range map[string]string{
		"case 54: with the wrong key": other,
		"case 54: a plain text":       knownPlain,
		"case 55: too short":          base64.StdEncoding.EncodeToString(nonce),
		"case 55: empty":              "",
		"cut off":                     sealed[:len(sealed)-4],
	} {
		if plain, nonce, err := a.open(text); err == nil || plain != "" || nonce != nil {
			t.Errorf("%s: got %q, nonce %x, error %v; want an error", name, plain, nonce, err)
		}
	}
	if _, err := a.seal(knownPlain, nil); err == nil || !strings.Contains(err.Error(), "nonce must be provided") {
		t.Errorf("case 55: without a nonce: got error %v", err)
	}
}

func TestSealerKey(t *testing.T) {
	raw := strings.Repeat("s", keySize)
	for name, test := range map[string]struct {
		key   string
		valid bool
	}{
		"case 59: 32 bytes":            {raw, true},
		"case 59: base64 of 32 bytes":  {base64.StdEncoding.EncodeToString([]byte(raw)), true},
		"case 53: 31 bytes":            {raw[1:], false},
		"case 59: base64 of 31 bytes":  {base64.StdEncoding.EncodeToString([]byte(raw[1:])), false},
		"case 59: 33 bytes":            {raw + "s", false},
		"case 59: URL-safe alphabet":   {base64.URLEncoding.EncodeToString(bytes.Repeat([]byte{0xff}, keySize)), false},
		"32 bytes that are base64 too": {base64.StdEncoding.EncodeToString([]byte(raw[:24])), true},
	} {
		_, err := newSealer(test.key)
		if (err == nil) != test.valid {
			t.Errorf("%s: got error %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), test.key) {
			t.Errorf("%s: the error shows the key: %v", name, err)
		}
	}
}

// A text that fails half way must not spoil the next one.
func TestUnzipAfterFailure(t *testing.T) {
	s := newTestSealer(t, knownKey)
	bad := base64.StdEncoding.EncodeToString(s.aead.Seal(make([]byte, nonceSize), make([]byte, nonceSize), []byte("no gzip"), nil))
	for range 3 {
		if _, _, err := s.open(bad); err == nil {
			t.Fatal("got no error for what isn't compressed")
		}
		if plain, _, err := s.open(knownSealed); err != nil || plain != knownPlain {
			t.Fatalf("got %q, error %v", plain, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	s := newTestSealer(f, knownKey)
	for _, text := range []string{knownSealed, knownPlain, "", "AAAA", base64.StdEncoding.EncodeToString(make([]byte, 40))} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		plain, nonce, err := s.open(text)
		if err != nil {
			if plain != "" || nonce != nil {
				t.Fatalf("got %q and nonce %x with error %v", plain, nonce, err)
			}
			return
		}
		// Only somebody with the key can make one.
		if diff := cmp.Diff(knownPlain, plain); diff != "" {
			t.Errorf("plain text (-want +got):\n%s", diff)
		}
	})
}

func FuzzSeal(f *testing.F) {
	s := newTestSealer(f, knownKey)
	f.Add(knownPlain, make([]byte, nonceSize))
	f.Add("", []byte("short"))
	f.Fuzz(func(t *testing.T, text string, nonce []byte) {
		sealed, err := s.seal(text, nonce)
		if len(nonce) != nonceSize {
			if err == nil {
				t.Fatalf("a nonce of %d bytes was taken", len(nonce))
			}
			return
		}
		plain, back, err := s.open(sealed)
		if err != nil || plain != text || !bytes.Equal(back, nonce) {
			t.Fatalf("got %q with nonce %x back, error %v", plain, back, err)
		}
		if again, err := s.seal(plain, back); err != nil || again != sealed {
			t.Errorf("sealed again it is %s, was %s (error %v)", again, sealed, err)
		}
	})
}

func newTestSealer(t testing.TB, key string) *sealer {
	t.Helper()
	s, err := newSealer(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
