package azure

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/signpostd/signpost/dns"
)

func wireRecord(r *dns.RecordSet, target string) (record, error) {
	switch r.Type {
	case dns.TypeMX, dns.TypeSRV:
		return wireFields(target)
	case dns.TypeTXT:
		return wireText(r, target)
	}
	return record{text: target}, nil
}

// wireFields returns a record of numbers and a name.
func wireFields(target string) (record, error) {
	fields := strings.Fields(target)
	last := len(fields) - 1
	v := record{text: bare(fields[last])}
	for _, field := range fields[:last] {
		n, err := strconv.ParseUint(field, 10, 16)
		if err != nil {
			return record{}, fmt.Errorf("%q: %w", target, err)
		}
		v.numbers = append(v.numbers, int32(n))
	}
	return v, nil
}

// bare removes the final dot of a name, except that of the root.
func bare(name string) string {
	if name == "." {
		return name
	}
	return strings.TrimSuffix(name, ".")
}

func listedRecord(recordType string, v record) string {
	switch recordType {
	case dns.TypeMX, dns.TypeSRV:
		var fields []string
		for _, n := range v.numbers {
			fields = append(fields, strconv.Itoa(int(n)))
		}
		host := bare(v.text)
		if recordType == dns.TypeSRV && host != "." {
			host += "."
		}
		return strings.Join(append(fields, host), " ")
	case dns.TypeTXT:
		return listedText(v.strings)
	}
	return v.text
}

// convertAll converts the non-nil entries of a list of the SDK. The result of an empty list is nil.
func convertAll[T, R any](list []*T, one func(*T) R) (converted []R) {
	for _, v := range list {
		if v != nil {
			converted = append(converted, one(v))
		}
	}
	return converted
}

func plain(m map[string]*string) map[string]string {
	values := make(map[string]string, len(m))
	for k, v := range m {
		values[k] = value(v)
	}
	return values
}

func pointers(m map[string]string) map[string]*string {
	// An empty map deletes the existing metadata. Nil would be omitted from the request.
	values := make(map[string]*string, len(m))
	for k, v := range m {
		values[k] = &v
	}
	return values
}

func plainList(list []*string) []string {
	values := make([]string, len(list))
	for i, v := range list {
		values[i] = value(v)
	}
	return values
}

func pointerList(list []string) []*string {
	values := make([]*string, len(list))
	for i := range list {
		values[i] = &list[i]
	}
	return values
}
