package libdns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/dns/provider/httpapi"
	"github.com/signpostd/signpost/dns/provider/libdns/module"
	"github.com/signpostd/signpost/dns/provider/libdns/modules"
)

const (
	flagName   = "libdns-name"
	flagConfig = "libdns-config"
	flagZone   = "libdns-zone"

	// maxFile limits a file with settings, or with one setting, in bytes.
	maxFile = 1 << 20
	// fromFile begins a value that is the path of a file.
	fromFile = "file:"
)

// Config has the settings for a module of libdns.
type Config struct {
	// Name is the module's name.
	Name string
	// File is the path of a JSON file with the module's fields.
	File string
	// Zones are the names of the zones, for modules that can't list them.
	Zones []string

	// Modules are the available modules.
	Modules []module.Module
}

// Plugin returns the provider of --provider=libdns.
func Plugin() provider.Plugin {
	return provider.Plugin{
		Names:   []string{"libdns"},
		Summary: "DNS services that a module of libdns knows: " + strings.Join(names(modules.All()), ", "),
		New:     func() provider.Config { return &Config{Modules: modules.All()} },
	}
}

func names(all []module.Module) []string {
	list := make([]string, len(all))
	for i, m := range all {
		list[i] = m.Name
	}
	return list
}

// Flags implements [provider.Config].
func (c *Config) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.Name, flagName, c.Name, "`name` of the libdns module: "+strings.Join(names(c.Modules), ", ")+" (required with --provider=libdns)")
	flags.StringVar(&c.File, flagConfig, c.File,
		"JSON `file` with the settings of the libdns module; a value such as file:/run/secrets/token is the content of that file (required with --provider=libdns)")
	flags.StringArrayVar(&c.Zones, flagZone, c.Zones, "`name` of a zone; may be repeated. If it is given, the libdns module isn't asked for its zones; some modules can't list them")
}

// Open implements [provider.Config].
func (c *Config) Open(ctx context.Context, in provider.Input) (provider.Provider, error) {
	m, err := c.find()
	if err != nil {
		return nil, err
	}
	client := m.New()
	secrets, err := c.read(m, client)
	if err != nil {
		return nil, fmt.Errorf("--%s %s: %w", flagConfig, c.File, err)
	}
	zones, err := c.zones(m, client)
	if err != nil {
		return nil, err
	}
	httpClient, err := httpapi.NewClient(ctx, in, httpapi.Options{Reads: m.Reads})
	if err != nil {
		return nil, err
	}
	return newAdapter(in, m, &caller{client: client, transport: httpClient.Transport, secrets: secrets, denied: m.Denied}, zones), nil
}

func (c *Config) find() (module.Module, error) {
	i := slices.IndexFunc(c.Modules, func(m module.Module) bool { return m.Name == c.Name })
	if i < 0 {
		return module.Module{}, fmt.Errorf("--%s %q: no such module: give one of %s", flagName, c.Name, strings.Join(names(c.Modules), ", "))
	}
	return c.Modules[i], nil
}

// read sets the fields of a client. It returns the secrets among them, which errors must not show.
func (c *Config) read(m module.Module, client module.Client) (secrets []string, err error) {
	if c.File == "" {
		return nil, fmt.Errorf("empty: give a JSON file with the settings of the module, which are %s", strings.Join(m.Required, ", "))
	}
	text, err := provider.ReadFile(c.File, maxFile)
	if err != nil {
		return nil, err
	}
	var settings map[string]any
	if err := json.Unmarshal(text, &settings); err != nil || settings == nil {
		return nil, errors.New("it isn't a JSON object")
	}
	if secrets, err = complete(settings); err != nil {
		return nil, err
	}
	if err := checkRequired(m, settings); err != nil {
		return nil, err
	}
	if text, err = json.Marshal(settings); err != nil {
		return nil, errors.New("its settings can't be written as JSON")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	return secrets, withoutValue(decoder.Decode(client))
}

// complete replaces settings that name files with the content of these files.
func complete(settings map[string]any) (secrets []string, err error) {
	for name, value := range settings {
		text, ok := value.(string)
		if !ok {
			continue
		}
		if path, inFile := strings.CutPrefix(text, fromFile); inFile {
			secret, err := provider.ReadFile(path, maxFile)
			if err != nil {
				return nil, fmt.Errorf("the setting %q: %w", name, err)
			}
			text = strings.TrimSpace(string(secret))
			settings[name] = text
		}
		secrets = append(secrets, text)
	}
	return secrets, nil
}

func checkRequired(m module.Module, settings map[string]any) error {
	for _, wanted := range m.Required {
		if !slices.ContainsFunc(strings.Split(wanted, "|"), func(name string) bool { return settings[name] != nil && settings[name] != "" }) {
			return fmt.Errorf("the setting %s is missing or empty", strings.ReplaceAll(wanted, "|", " or "))
		}
	}
	return nil
}

// withoutValue returns an error of the decoder without the value that it quotes.
func withoutValue(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		// The name of an embedded struct precedes that of its field.
		name := wrong.Field[strings.LastIndex(wrong.Field, ".")+1:]
		return fmt.Errorf("the setting %q has a value of the wrong kind: it has to be of the kind %s", name, wrong.Type)
	}
	return err
}

// zones returns the zones of --libdns-zone by canonical name. Nil means those that the module
// lists.
func (c *Config) zones(m module.Module, client module.Client) ([]dns.Zone, error) {
	if _, lists := client.(zoneLister); !lists && len(c.Zones) == 0 {
		return nil, fmt.Errorf("--%s: none: the libdns module %s can't list zones, so name them", flagZone, m.Name)
	}
	var zones []dns.Zone
	for _, given := range c.Zones {
		name := dns.Canonical(given)
		if err := dns.CheckName(name); err != nil {
			return nil, fmt.Errorf("--%s %q: %w", flagZone, given, err)
		}
		zones = append(zones, dns.Zone{ID: name, Name: name})
	}
	return zones, nil
}
