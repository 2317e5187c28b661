package configure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/provider"
)

const (
	// secretFileSuffix is the suffix of the flag for the file with a secret.
	secretFileSuffix = "-file"
	// secretLimit limits the file of a secret, in bytes. No key is nearly as long.
	secretLimit = 64 << 10
)

// addSecretFiles adds, for each secret flag, a flag for a file with its value, because everybody
// who may list processes can read flags. [ReadSecretFiles] reads the files.
func addSecretFiles(flags *pflag.FlagSet) {
	var secrets []*pflag.Flag
	flags.VisitAll(func(f *pflag.Flag) {
		if provider.IsSecret(f) && Supported(f) {
			secrets = append(secrets, f)
		}
	})
	for _, f := range secrets {
		flags.String(f.Name+secretFileSuffix, "", "`path` of a file with the value of --"+f.Name)
	}
}

// ReadSecretFiles sets secret flags from the files of the flags with the suffix -file, without a
// final line break. The error says which flag is wrong, and never contains any of the content.
func ReadSecretFiles(flags *pflag.FlagSet) error { return ReadSecretFilesBy(flags, SecretIn) }

// ReadSecretFilesBy is [ReadSecretFiles] with another function that returns the secret in a file.
func ReadSecretFilesBy(flags *pflag.FlagSet, read func(path string) (string, error)) error {
	var errs []error
	eachSecretFile(flags, func(secret, file *pflag.Flag) {
		if err := readSecretFile(flags, secret, file.Value.String(), read); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", file.Name, err))
		}
	})
	return errors.Join(errs...)
}

// eachSecretFile calls f for each secret flag whose value is to be read from a file.
func eachSecretFile(flags *pflag.FlagSet, f func(secret, file *pflag.Flag)) {
	flags.VisitAll(func(secret *pflag.Flag) {
		file := flags.Lookup(secret.Name + secretFileSuffix)
		if provider.IsSecret(secret) && file != nil && file.Value.String() != "" {
			f(secret, file)
		}
	})
}

// Secrets returns the values of the secret flags of a publisher.
func (o *Options) Secrets() []string {
	var values []string
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		if provider.IsSecret(f) && f.Changed {
			values = append(values, f.Value.String())
		}
	})
	return values
}

// ChangedSecrets returns the -file flags whose file has another secret than the one that was read,
// and --tls-ca if its file has other authorities. A file that can't be read counts as unchanged.
func (o *Options) ChangedSecrets() []string {
	var changed []string
	eachSecretFile(o.publisherFlags, func(secret, file *pflag.Flag) {
		if value, err := SecretIn(file.Value.String()); err == nil && value != secret.Value.String() {
			changed = append(changed, "--"+file.Name)
		}
	})
	if len(o.authorities) > 0 {
		if now, err := os.ReadFile(o.TLS.CA); err == nil && !bytes.Equal(now, o.authorities) {
			changed = append(changed, provider.TLSFlags().CA)
		}
	}
	return changed
}

// CheckSecrets returns why a publisher can't be opened with the secrets that are in the files now, or nil. It
// contacts no server.
func (o *Options) CheckSecrets(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // It ends everything that is opened.
	renewed, err := o.withSecretsOfFiles()
	if err != nil {
		return err
	}
	in := Input{Log: slog.New(slog.DiscardHandler)}
	if renewed.RegistryKind() == registryTXT {
		if _, err := owner.NewTXT(renewed.txtOptions(in)); err != nil {
			return err
		}
	}
	_, err = renewed.OpenProvider(ctx, in)
	return err
}

// withSecretsOfFiles returns a copy of the options with the secrets that are in the files now.
func (o *Options) withSecretsOfFiles() (*Options, error) {
	renewed, flags := New(), pflag.NewFlagSet(o.publisherFlags.Name(), pflag.ContinueOnError)
	flags.SetOutput(io.Discard)
	renewed.Flags(flags)
	fromFile := map[string]bool{}
	eachSecretFile(o.publisherFlags, func(secret, _ *pflag.Flag) { fromFile[secret.Name] = true })
	var errs []error
	o.publisherFlags.VisitAll(func(f *pflag.Flag) {
		if !fromFile[f.Name] && (f.Changed || f.Value.String() != f.DefValue) {
			errs = append(errs, copyValue(flags, f))
		}
	})
	renewed.Name, renewed.DryRun = o.Name, true
	return renewed, errors.Join(append(errs, ReadSecretFiles(flags))...)
}

// copyValue gives the flag of the same name the value of another one.
func copyValue(flags *pflag.FlagSet, from *pflag.Flag) error {
	to := flags.Lookup(from.Name)
	list, isList := from.Value.(pflag.SliceValue)
	if !isList {
		return flags.Set(from.Name, from.Value.String())
	}
	to.Changed = from.Changed
	return to.Value.(pflag.SliceValue).Replace(list.GetSlice())
}

func readSecretFile(flags *pflag.FlagSet, secret *pflag.Flag, path string, read func(path string) (string, error)) error {
	if secret.Changed {
		return fmt.Errorf("--%s is given, too: leave out one of them", secret.Name)
	}
	value, err := read(path)
	if err != nil {
		return err
	}
	if err := flags.Set(secret.Name, value); err != nil {
		return fmt.Errorf("%s: %w", path, withoutValue(secret, err))
	}
	return nil
}

// SecretIn returns the secret in a file.
func SecretIn(path string) (string, error) {
	text, err := provider.ReadFile(path, secretLimit)
	if err != nil {
		return "", err
	}
	value := strings.TrimRight(string(text), "\r\n")
	if value == "" {
		return "", fmt.Errorf("%s is empty: write the secret into it", path)
	}
	return value, nil
}
