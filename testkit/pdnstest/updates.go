package pdnstest

import (
	"context"
	_ "embed"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/signpostd/signpost/internal/childprocess"
)

// Key is a TSIG key.
type Key struct {
	// Name has no trailing dot. Algorithm is as in PowerDNS, such as hmac-sha256.
	Name, Algorithm string
	// Secret is base64-encoded.
	Secret string
}

// schema creates the tables that PowerDNS 4.7 and later expect in SQLite.
//
//go:embed schema.sql
var schema string

// backend returns the configuration of the backend, and creates its database. PowerDNS creates that of lmdb
// itself, but lmdb supports dynamic updates only since PowerDNS 5.0.
func (s *Server) backend(ctx context.Context) (string, error) {
	if s.key == nil {
		return fmt.Sprintf("launch=lmdb\nlmdb-filename=%s\n", filepath.Join(s.dir, "zones")), nil
	}
	program, err := childprocess.Find("sqlite3")
	if err != nil {
		return "", err
	}
	file := filepath.Join(s.dir, "zones.sqlite3")
	cmd := exec.CommandContext(ctx, program, file)
	cmd.Stdin = strings.NewReader(schema)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("make the database: %w: %s", err, said)
	}
	// The zones need not survive a crash, so nothing waits for the disk. By default every address of this
	// machine may transfer all zones.
	return fmt.Sprintf("launch=gsqlite3\ngsqlite3-database=%s\ngsqlite3-pragma-synchronous=0\ndnsupdate=yes\nallow-axfr-ips=\n", file), nil
}

// addKey adds the key to the server, if there is one.
func (s *Server) addKey(ctx context.Context) error {
	if s.key == nil {
		return nil
	}
	_, err := s.Request(ctx, http.MethodPost, "tsigkeys", map[string]any{"name": s.key.Name, "algorithm": s.key.Algorithm, "key": s.key.Secret})
	return err
}

// allowKey lets the key transfer and update a zone.
func (s *Server) allowKey(ctx context.Context, zone string) error {
	// The metadata TSIG-ALLOW-AXFR can't be set directly.
	_, err := s.Request(ctx, http.MethodPut, "zones/"+zone+".", map[string]any{"master_tsig_key_ids": []string{s.key.Name + "."}})
	if err != nil {
		return err
	}
	_, err = s.Request(ctx, http.MethodPost, "zones/"+zone+"./metadata", map[string]any{"kind": "TSIG-ALLOW-DNSUPDATE", "metadata": []string{s.key.Name}})
	return err
}
