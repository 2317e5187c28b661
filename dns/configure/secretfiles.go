package configure

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns/provider"
)

const (
	// secretFileSuffix ends the name of the flag for the file that has the value of a secret flag.
	secretFileSuffix = "-file"
	// secretLimit is the largest such file in bytes, which is far more than any key has.
	secretLimit = 64 << 10
)

// addSecretFiles adds, for each flag that is marked as a secret, one that names a file with its
// value: an orchestrator can mount a secret as a file, and what is in a flag can be read by all
// who may list processes. [ReadSecretFiles] reads the files.
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

// ReadSecretFiles gives secret flags the contents of the files that the flags with the suffix
// -file name, without a line end after them. The error says which flag is wrong, and never has
// anything of a content.
func ReadSecretFiles(flags *pflag.FlagSet) error {
	var errs []error
	flags.VisitAll(func(f *pflag.Flag) {
		file := flags.Lookup(f.Name + secretFileSuffix)
		if !provider.IsSecret(f) || file == nil || file.Value.String() == "" {
			return
		}
		if err := readSecretFile(flags, f, file.Value.String()); err != nil {
			errs = append(errs, fmt.Errorf("--%s: %w", file.Name, err))
		}
	})
	return errors.Join(errs...)
}

func readSecretFile(flags *pflag.FlagSet, secret *pflag.Flag, path string) error {
	if secret.Changed {
		return fmt.Errorf("--%s is given, too: leave out one of them", secret.Name)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, secretLimit+1))
	switch value := strings.TrimRight(string(text), "\r\n"); {
	case err != nil:
		return err
	case len(text) > secretLimit:
		return fmt.Errorf("%s has more than %d bytes: name a file with nothing but the secret", path, secretLimit)
	case value == "":
		return fmt.Errorf("%s is empty: write the secret into it", path)
	default:
		if err := flags.Set(secret.Name, value); err != nil {
			return fmt.Errorf("%s: %w", path, withoutValue(secret, err))
		}
		return nil
	}
}
