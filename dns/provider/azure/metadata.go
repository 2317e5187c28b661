package azure

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
)

// Properties (spec/clouds.md §4.3, §4.4): propertyTags is that of the annotation, and propertyMetadata begins
// those for metadata at Azure.
const (
	prefix           = "azure/"
	propertyTags     = prefix + "tags"
	propertyMetadata = prefix + "metadata-"
	keyOfKeys        = "keys"
)

// Limits of Azure for the metadata of a record set.
const (
	maxPairs         = 10
	maxMetadataKey   = 512
	maxMetadataValue = 256
)

func wireMetadata(properties []dns.Property) (map[string]string, error) {
	metadata := map[string]string{}
	for _, p := range properties {
		key, is := strings.CutPrefix(p.Name, propertyMetadata)
		switch {
		case is && key != keyOfKeys:
			metadata[key] = p.Value
		case !is && p.Name != propertyTags && strings.HasPrefix(p.Name, prefix):
			return nil, fmt.Errorf("the property %s is unknown: Azure has %s and %s…", p.Name, propertyTags, propertyMetadata)
		}
	}
	for _, p := range properties {
		if p.Name == propertyTags {
			if err := addTags(metadata, p.Value); err != nil {
				return nil, err
			}
		}
	}
	return metadata, checkMetadata(metadata)
}

// addTags adds tags such as a=1,b=2.
func addTags(metadata map[string]string, tags string) error {
	for tag := range strings.SplitSeq(tags, ",") {
		key, value, both := strings.Cut(tag, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case strings.TrimSpace(tag) == "":
		case !both || key == "":
			return fmt.Errorf("the tag %q in %q: give tags as key=value, with commas between them", tag, tags)
		default:
			metadata[key] = value
		}
	}
	return nil
}

func checkMetadata(metadata map[string]string) error {
	if len(metadata) > maxPairs {
		return fmt.Errorf("there are %d tags, and a record set of Azure has %d or fewer", len(metadata), maxPairs)
	}
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		switch {
		case key == keyOfKeys:
			return fmt.Errorf("a tag can't be called %q: the property %s%s has the names of all of them", key, propertyMetadata, keyOfKeys)
		case len(key) > maxMetadataKey:
			return fmt.Errorf("the key of a tag has %d bytes, and may have %d", len(key), maxMetadataKey)
		case len(metadata[key]) > maxMetadataValue:
			return fmt.Errorf("the value of the tag %q has %d bytes, and may have %d", key, len(metadata[key]), maxMetadataValue)
		}
	}
	return nil
}

func listedMetadata(metadata map[string]string) []dns.Property {
	if len(metadata) == 0 {
		return nil
	}
	keys := slices.Sorted(maps.Keys(metadata))
	properties := []dns.Property{{Name: propertyMetadata + keyOfKeys, Value: strings.Join(keys, ",")}}
	for _, key := range keys {
		if key != keyOfKeys {
			properties = append(properties, dns.Property{Name: propertyMetadata + key, Value: metadata[key]})
		}
	}
	return properties
}
