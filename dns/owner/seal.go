package owner

import (
	"bytes"
	"compress/gzip"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

const (
	keySize   = 32
	nonceSize = 12
	// maxText limits a decompressed text, in bytes. No TXT record can hold as much.
	maxText = 1 << 20
)

// sealer encrypts and decrypts ownership texts (spec/dns.md §4.2.2). Its methods may be called
// from any goroutine.
type sealer struct {
	aead cipher.AEAD
	// unzippers are reused, because each takes 40 kB.
	unzippers sync.Pool
}

// newSealer returns a sealer for a key of 32 bytes, or for its base64 form.
func newSealer(key string) (*sealer, error) {
	raw := []byte(key)
	if len(raw) != keySize {
		var err error
		if raw, err = base64.StdEncoding.DecodeString(key); err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("AES key: must be %d bytes, or the standard base64 of %d bytes", keySize, keySize)
		}
	}
	block, err := aes.NewCipher(raw)
	if err != nil {
		return nil, fmt.Errorf("AES key: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("AES key: %w", err)
	}
	return &sealer{aead: aead}, nil
}

// seal encrypts a text. Each text needs a new nonce. With the nonce from [sealer.open], the result
// is the text that was opened.
func (s *sealer) seal(text string, nonce []byte) (string, error) {
	if len(nonce) != nonceSize {
		return "", errors.New("encrypt an ownership text: nonce must be provided, of 12 bytes")
	}
	var zipped bytes.Buffer
	w, err := gzip.NewWriterLevel(&zipped, gzip.BestCompression)
	if err != nil {
		return "", fmt.Errorf("compress an ownership text: %w", err)
	}
	// ExternalDNS flushes before it closes, which changes the result.
	for _, step := range []func() error{
		func() error { _, err := io.WriteString(w, text); return err }, w.Flush, w.Close,
	} {
		if err := step(); err != nil {
			return "", fmt.Errorf("compress an ownership text: %w", err)
		}
	}
	return base64.StdEncoding.EncodeToString(s.aead.Seal(bytes.Clone(nonce), nonce, zipped.Bytes(), nil)), nil
}

// open decrypts a text, and returns its nonce too.
func (s *sealer) open(text string) (plain string, nonce []byte, err error) {
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return "", nil, fmt.Errorf("decode an ownership text: %w", err)
	}
	if len(data) <= nonceSize {
		return "", nil, fmt.Errorf("decrypt an ownership text: %d bytes are too few", len(data))
	}
	nonce = data[:nonceSize]
	zipped, err := s.aead.Open(nil, nonce, data[nonceSize:], nil)
	if err != nil {
		return "", nil, fmt.Errorf("decrypt an ownership text: %w", err)
	}
	if plain, err = s.unzip(zipped); err != nil {
		return "", nil, fmt.Errorf("decompress an ownership text: %w", err)
	}
	return plain, nonce, nil
}

func (s *sealer) unzip(zipped []byte) (string, error) {
	r, ok := s.unzippers.Get().(*gzip.Reader)
	if !ok {
		r = new(gzip.Reader)
	}
	defer s.unzippers.Put(r)
	if err := r.Reset(bytes.NewReader(zipped)); err != nil {
		return "", err
	}
	var b strings.Builder
	if n, err := io.Copy(&b, io.LimitReader(r, maxText+1)); err != nil {
		return "", err
	} else if n > maxText {
		return "", fmt.Errorf("more than %d bytes", maxText)
	}
	return b.String(), nil
}
