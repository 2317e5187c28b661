package source

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"slices"
	"strings"

	template "github.com/DataDog/datadog-agent/pkg/template/text"
)

// functions returns the template functions beside those of Go (spec/dns.md §6.12), for one of
// several sources. isSource fails for a name that isn't among them.
func functions(source string, sources []string) template.FuncMap {
	return template.FuncMap{
		"contains":   strings.Contains,
		"trimPrefix": strings.TrimPrefix,
		"trimSuffix": strings.TrimSuffix,
		"trim":       strings.TrimSpace,
		"toLower":    strings.ToLower,
		"replace":    replace,
		"isIPv4":     func(s string) bool { return isAddress(s, netip.Addr.Is4) },
		"isIPv6":     func(s string) bool { return isAddress(s, netip.Addr.Is6) },
		"hasKey":     hasKey,
		"fromJson":   fromJSON,
		"isSource": func(name string) (bool, error) {
			name = strings.ToLower(name)
			if name != source && !slices.Contains(sources, name) {
				return false, fmt.Errorf("there is no source %q; use a name that --source takes", name)
			}
			return name == source, nil
		},
	}
}

// replace fails if its result is longer than the output of a template may be.
func replace(old, new, s string) (string, error) {
	if len(s)+strings.Count(s, old)*len(new) > 2*outputLimit {
		return "", errLongOutput
	}
	return strings.ReplaceAll(s, old, new), nil
}

func isAddress(text string, family func(netip.Addr) bool) bool {
	a, err := netip.ParseAddr(text)
	return err == nil && a.Zone() == "" && family(a)
}

// hasKey reports whether a map has a key. Nil counts as an empty map.
func hasKey(m any, key string) (bool, error) {
	v := reflect.ValueOf(m)
	if !v.IsValid() {
		return false, nil
	}
	if v.Kind() != reflect.Map || v.Type().Key().Kind() != reflect.String {
		return false, fmt.Errorf("hasKey of a %T; give it a map with names", m)
	}
	return v.MapIndex(reflect.ValueOf(key).Convert(v.Type().Key())).IsValid(), nil
}

// fromJSON returns the value of a JSON text, or nil if the text isn't JSON.
func fromJSON(text string) any {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return nil
	}
	return v
}
