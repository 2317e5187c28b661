package azure

import (
	"context"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/dns/armdns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// publicService is the API for public zones.
type publicService struct {
	zoneClient *armdns.ZonesClient
	setClient  *armdns.RecordSetsClient
}

func newPublicService(subscription string, credential azcore.TokenCredential, options *arm.ClientOptions) (service, error) {
	clients, err := armdns.NewClientFactory(subscription, credential, options)
	if err != nil {
		return nil, err
	}
	return publicService{zoneClient: clients.NewZonesClient(), setClient: clients.NewRecordSetsClient()}, nil
}

// right implements service.
func (publicService) right(what, action string) string {
	if what == "zone" {
		return "Microsoft.Network/dnsZones/" + action
	}
	return "Microsoft.Network/dnsZones/*/" + action
}

func (p publicService) zones(ctx context.Context, group string, l *listlimit.Listing) ([]dns.Zone, error) {
	pager := p.zoneClient.NewListByResourceGroupPager(group, &armdns.ZonesClientListByResourceGroupOptions{Top: new(int32(page))})
	return allPages(ctx, pager, l, zoneSize, func(response armdns.ZonesClientListByResourceGroupResponse) (zones []dns.Zone, next *string, err error) {
		if response.Value == nil {
			return nil, nil, incomplete("list of zones")
		}
		for _, z := range response.Value {
			if z != nil {
				zones = append(zones, dns.Zone{ID: value(z.ID), Name: value(z.Name), Version: version(value(z.Properties).NumberOfRecordSets)})
			}
		}
		return zones, response.NextLink, nil
	})
}

// version returns the number of record sets as the version of a zone, or "" if it is unknown.
func version(recordSets *int64) string {
	if recordSets == nil {
		return ""
	}
	return strconv.FormatInt(*recordSets, 10)
}

func (p publicService) list(ctx context.Context, group, zone string, l *listlimit.Listing) ([]*stored, error) {
	pager := p.setClient.NewListAllByDNSZonePager(group, zone, &armdns.RecordSetsClientListAllByDNSZoneOptions{Top: new(int32(page))})
	return allPages(ctx, pager, l, (*stored).size, func(response armdns.RecordSetsClientListAllByDNSZoneResponse) (sets []*stored, next *string, err error) {
		if response.Value == nil {
			return nil, nil, incomplete("list of record sets")
		}
		for _, r := range response.Value {
			if r != nil {
				sets = append(sets, fromPublic(r))
			}
		}
		return sets, response.NextLink, nil
	})
}

func (p publicService) get(ctx context.Context, group, zone string, k key) (*stored, error) {
	response, err := p.setClient.Get(ctx, group, zone, k.name, armdns.RecordType(k.recordType), nil)
	if err != nil {
		return nil, err
	}
	if response.Name == nil {
		return nil, incomplete("record set")
	}
	return fromPublic(&response.RecordSet), nil
}

func (p publicService) put(ctx context.Context, group, zone string, s *stored, etag string) (*stored, error) {
	condition := &armdns.RecordSetsClientCreateOrUpdateOptions{IfNoneMatch: new("*")}
	if etag != "" {
		condition = &armdns.RecordSetsClientCreateOrUpdateOptions{IfMatch: &etag}
	}
	response, err := p.setClient.CreateOrUpdate(ctx, group, zone, s.key.name, armdns.RecordType(s.key.recordType), toPublic(s), condition)
	if err != nil {
		return nil, err
	}
	if response.Name == nil {
		return nil, incomplete("record set")
	}
	return fromPublic(&response.RecordSet), nil
}

func (p publicService) remove(ctx context.Context, group, zone string, k key, etag string) error {
	_, err := p.setClient.Delete(ctx, group, zone, k.name, armdns.RecordType(k.recordType), &armdns.RecordSetsClientDeleteOptions{IfMatch: &etag})
	return err
}

func fromPublic(r *armdns.RecordSet) *stored {
	s := &stored{key: newKey(value(r.Name), value(r.Type)), etag: value(r.Etag)}
	p := r.Properties
	if p == nil {
		return s
	}
	s.ttl, s.metadata = value(p.TTL), plain(p.Metadata)
	if p.TargetResource != nil {
		s.resource = value(p.TargetResource.ID)
	}
	switch s.key.recordType {
	case dns.TypeA:
		s.records = convertAll(p.ARecords, func(v *armdns.ARecord) record { return record{text: value(v.IPv4Address)} })
	case dns.TypeAAAA:
		s.records = convertAll(p.AaaaRecords, func(v *armdns.AaaaRecord) record { return record{text: value(v.IPv6Address)} })
	case dns.TypeCNAME:
		if p.CnameRecord != nil {
			s.records = []record{{text: value(p.CnameRecord.Cname)}}
		}
	case dns.TypeNS:
		s.records = convertAll(p.NsRecords, func(v *armdns.NsRecord) record { return record{text: value(v.Nsdname)} })
	case dns.TypeMX:
		s.records = convertAll(p.MxRecords, func(v *armdns.MxRecord) record {
			return record{text: value(v.Exchange), numbers: []int32{value(v.Preference)}}
		})
	case dns.TypePTR:
		s.records = convertAll(p.PtrRecords, func(v *armdns.PtrRecord) record { return record{text: value(v.Ptrdname)} })
	case dns.TypeSRV:
		s.records = convertAll(p.SrvRecords, func(v *armdns.SrvRecord) record {
			return record{text: value(v.Target), numbers: []int32{value(v.Priority), value(v.Weight), value(v.Port)}}
		})
	case dns.TypeTXT:
		s.records = convertAll(p.TxtRecords, func(v *armdns.TxtRecord) record { return record{strings: plainList(v.Value)} })
	}
	return s
}

func toPublic(s *stored) armdns.RecordSet {
	p := &armdns.RecordSetProperties{TTL: &s.ttl, Metadata: pointers(s.metadata)}
	if s.resource != "" {
		// The records are those of the resource.
		p.TargetResource = &armdns.SubResource{ID: &s.resource}
		return armdns.RecordSet{Properties: p}
	}
	for _, v := range s.records {
		switch s.key.recordType {
		case dns.TypeA:
			p.ARecords = append(p.ARecords, &armdns.ARecord{IPv4Address: &v.text})
		case dns.TypeAAAA:
			p.AaaaRecords = append(p.AaaaRecords, &armdns.AaaaRecord{IPv6Address: &v.text})
		case dns.TypeCNAME:
			p.CnameRecord = &armdns.CnameRecord{Cname: &v.text}
		case dns.TypeNS:
			p.NsRecords = append(p.NsRecords, &armdns.NsRecord{Nsdname: &v.text})
		case dns.TypeMX:
			p.MxRecords = append(p.MxRecords, &armdns.MxRecord{Exchange: &v.text, Preference: &v.numbers[0]})
		case dns.TypePTR:
			p.PtrRecords = append(p.PtrRecords, &armdns.PtrRecord{Ptrdname: &v.text})
		case dns.TypeSRV:
			p.SrvRecords = append(p.SrvRecords, &armdns.SrvRecord{Target: &v.text, Priority: &v.numbers[0], Weight: &v.numbers[1], Port: &v.numbers[2]})
		case dns.TypeTXT:
			p.TxtRecords = append(p.TxtRecords, &armdns.TxtRecord{Value: pointerList(v.strings)})
		}
	}
	return armdns.RecordSet{Properties: p}
}
