package bindtest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/signpostd/signpost/internal/childprocess"
)

// ErrNoKDC is returned if the programs of a KDC are not installed.
var ErrNoKDC = errors.New("krb5kdc, kdb5_util or kadmin.local isn't installed; run `make deps`, or install the server of MIT Kerberos")

// KDCConfig configures a KDC.
type KDCConfig struct {
	// Realm is in upper case.
	Realm string
	// Users are principals with a password.
	Users []User
	// Services are principals with a random key, such as DNS/localhost.
	Services []string
}

// User is a principal with a password.
type User struct {
	// Name is the name of the principal without its realm.
	Name, Password string
	// NoPreauth lets the KDC respond before the user has proved to know the password.
	NoPreauth bool
}

// KDC is a running krb5kdc.
type KDC struct {
	// Addr is the address for UDP and TCP.
	Addr netip.AddrPort
	// ConfFile is a krb5.conf for clients, to be set as KRB5_CONFIG.
	ConfFile string

	instance
	config   KDCConfig
	programs kdcPrograms
}

type kdcPrograms struct{ krb5kdc, kdb5util, kadmin string }

// StartKDC starts a KDC and waits until it listens. The KDC runs until Stop is called, even after the end of
// ctx. The error wraps [ErrNoKDC] if the programs are not installed.
func StartKDC(ctx context.Context, c KDCConfig) (*KDC, error) {
	programs, err := findKDC()
	if err != nil {
		return nil, fmt.Errorf("start a KDC: %w", err)
	}
	k, err := onFreePorts(ctx, func() (*KDC, error) { return startKDC(ctx, programs, c) })
	if err != nil {
		return nil, fmt.Errorf("start a KDC: %w", err)
	}
	return k, nil
}

func findKDC() (p kdcPrograms, err error) {
	for name, path := range map[string]*string{"krb5kdc": &p.krb5kdc, "kdb5_util": &p.kdb5util, "kadmin.local": &p.kadmin} {
		if *path, err = childprocess.Find(name); err != nil {
			return p, ErrNoKDC
		}
	}
	return p, nil
}

func startKDC(ctx context.Context, programs kdcPrograms, c KDCConfig) (*KDC, error) {
	dir, err := os.MkdirTemp("", "bindtest-kdc-")
	if err != nil {
		return nil, fmt.Errorf("make a directory: %w", err)
	}
	k := &KDC{
		ConfFile: filepath.Join(dir, "krb5.conf"), config: c, programs: programs,
		instance: instance{program: "krb5kdc", dir: dir},
	}
	if err = k.prepare(ctx); err == nil {
		k.process, err = launch(k.command(context.Background(), programs.krb5kdc, "-n"), k.logFile())
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	if err := k.waitReady(ctx, k.listens); err != nil {
		said := k.Log()
		if strings.Contains(strings.ToLower(said), "address already in use") {
			err = errPortTaken
		}
		return nil, errors.Join(fmt.Errorf("%w; it said:\n%s", err, lastLines(said)), k.Stop())
	}
	return k, nil
}

// prepare chooses a port, writes the files and creates the database.
func (k *KDC) prepare(ctx context.Context) error {
	port, err := childprocess.Port()
	if err != nil {
		return err
	}
	k.Addr = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), port)
	for file, text := range map[string]string{k.ConfFile: k.conf(), k.profileFile(): k.profile()} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the configuration: %w", err)
		}
	}
	// The database password protects nothing here, because it is stored in a file beside it.
	if err := k.run(ctx, k.programs.kdb5util, "create", "-s", "-P", "database"); err != nil {
		return err
	}
	return k.addPrincipals(ctx)
}

func (k *KDC) addPrincipals(ctx context.Context) error {
	for _, u := range k.config.Users {
		preauth := "+requires_preauth"
		if u.NoPreauth {
			preauth = "-requires_preauth"
		}
		if err := k.run(ctx, k.programs.kadmin, "addprinc", preauth, "-pw", u.Password, u.Name); err != nil {
			return err
		}
	}
	for _, service := range k.config.Services {
		if err := k.run(ctx, k.programs.kadmin, "addprinc", "-randkey", service); err != nil {
			return err
		}
		if err := k.run(ctx, k.programs.kadmin, "ktadd", "-k", k.keytab(), service); err != nil {
			return err
		}
	}
	return nil
}

// conf returns krb5.conf. It disables all lookups of names and addresses in DNS.
func (k *KDC) conf() string {
	return fmt.Sprintf("[libdefaults]\n default_realm = %[1]s\n dns_lookup_kdc = false\n dns_lookup_realm = false\n"+
		" dns_canonicalize_hostname = false\n rdns = false\n"+
		"[realms]\n %[1]s = {\n  kdc = %[2]s\n }\n", k.config.Realm, k.Addr)
}

// profile returns kdc.conf.
func (k *KDC) profile() string {
	return fmt.Sprintf("[kdcdefaults]\n kdc_listen = %[2]s\n kdc_tcp_listen = %[2]s\n"+
		"[realms]\n %[1]s = {\n  database_name = %[3]s/principal\n  key_stash_file = %[3]s/stash\n  acl_file = %[3]s/acl\n }\n"+
		"[logging]\n kdc = STDERR\n", k.config.Realm, k.Addr, k.dir)
}

// command returns a command for one of the programs that reads only the files of this KDC.
func (k *KDC) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, append([]string{"-r", k.config.Realm}, args...)...)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), "KRB5_CONFIG="+k.ConfFile, "KRB5_KDC_PROFILE="+k.profileFile(), "KRB5CCNAME=MEMORY:", "LC_ALL=C")
	return cmd
}

func (k *KDC) run(ctx context.Context, program string, args ...string) error {
	if said, err := k.command(ctx, program, args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w; it said:\n%s", filepath.Base(program), args[0], err, said)
	}
	return nil
}

// listens reports whether the KDC has logged that it listens.
func (k *KDC) listens(context.Context) (bool, error) {
	return strings.Contains(k.Log(), "commencing operation"), nil
}

func (k *KDC) profileFile() string { return filepath.Join(k.dir, "kdc.conf") }
func (k *KDC) keytab() string      { return filepath.Join(k.dir, "keytab") }
