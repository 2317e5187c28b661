// Package pki makes the certificates and keys of a local cluster: one certificate authority, a
// serving certificate for 127.0.0.1, an administrator's client certificate, and the key that signs
// service account tokens.
//
// The cluster package calls Ensure once, before anything is started. What exists in the directory
// is kept, so a cluster that is started again in the same directory still accepts the tokens and
// certificates that it gave out. Nothing here is meant to be secret from the user of the machine,
// beyond the file modes.
//
// Concurrency: none; call it from one goroutine.
package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// lifetime of every certificate: longer than anybody keeps a local cluster.
const lifetime = 10 * 365 * 24 * time.Hour

// Pair is a certificate and its private key, in PEM.
type Pair struct {
	CertFile, KeyFile string
}

// Files names what Ensure wrote.
type Files struct {
	CA     Pair
	Server Pair // for 127.0.0.1, ::1, localhost and the names of the kubernetes Service
	Admin  Pair // user "admin" of group system:masters

	// ServiceAccount has a key only: CertFile is the public half.
	ServiceAccount Pair
}

// Ensure makes in dir what is missing. serviceIPs are the cluster addresses of the kubernetes Service.
func Ensure(dir string, serviceIPs []net.IP) (Files, error) {
	files := Files{
		CA:             pair(dir, "ca"),
		Server:         pair(dir, "server"),
		Admin:          pair(dir, "admin"),
		ServiceAccount: pair(dir, "service-account"),
	}
	if _, err := os.Stat(files.ServiceAccount.KeyFile); err == nil {
		return files, nil // the last one written, so all are there
	} else if !errors.Is(err, fs.ErrNotExist) {
		return Files{}, fmt.Errorf("look for certificates: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Files{}, fmt.Errorf("make certificate directory: %w", err)
	}
	if err := files.create(serviceIPs); err != nil {
		return Files{}, fmt.Errorf("make certificates in %s: %w", dir, err)
	}
	return files, nil
}

func (f Files) create(serviceIPs []net.IP) error {
	caCert, caKey, err := newAuthority(f.CA)
	if err != nil {
		return err
	}
	sign := func(template *x509.Certificate, to Pair) error {
		key, err := newKey()
		if err != nil {
			return err
		}
		der, err := x509.CreateCertificate(rand.Reader, template, caCert, &key.PublicKey, caKey)
		if err != nil {
			return err
		}
		return write(to, "CERTIFICATE", der, key)
	}
	if err := sign(serverTemplate(serviceIPs), f.Server); err != nil {
		return err
	}
	if err := sign(adminTemplate(), f.Admin); err != nil {
		return err
	}
	return newSigningKey(f.ServiceAccount)
}

func newAuthority(to Pair) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	key, err := newKey()
	if err != nil {
		return nil, nil, err
	}
	template := newTemplate(pkix.Name{CommonName: "localcluster"})
	template.IsCA, template.BasicConstraintsValid = true, true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, nil, err
	}
	return certificate, key, write(to, "CERTIFICATE", der, key)
}

func serverTemplate(serviceIPs []net.IP) *x509.Certificate {
	template := newTemplate(pkix.Name{CommonName: "kube-apiserver"})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	template.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	template.IPAddresses = append([]net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}, serviceIPs...)
	return template
}

func adminTemplate() *x509.Certificate {
	template := newTemplate(pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}})
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return template
}

func newTemplate(subject pkix.Name) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)) // crypto/rand never fails
	return &x509.Certificate{
		Subject:      subject,
		SerialNumber: serial,
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(lifetime),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
	}
}

func newSigningKey(to Pair) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	return write(to, "PUBLIC KEY", public, key)
}

func newKey() (*ecdsa.PrivateKey, error) {
	return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
}

func pair(dir, name string) Pair {
	return Pair{CertFile: filepath.Join(dir, name+".crt"), KeyFile: filepath.Join(dir, name+".key")}
}

// write puts the public half first and the key last, so an existing key means a complete pair.
func write(to Pair, blockType string, der []byte, key *ecdsa.PrivateKey) error {
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	public := pem.EncodeToMemory(&pem.Block{Type: blockType, Bytes: der})
	if err := os.WriteFile(to.CertFile, public, 0o644); err != nil {
		return err
	}
	return os.WriteFile(to.KeyFile, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600)
}
