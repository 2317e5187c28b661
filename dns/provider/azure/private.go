package azure

import (
	"context"
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/privatedns/armprivatedns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// privateService is the API for private zones.
type privateService struct {
	zoneClient *armprivatedns.PrivateZonesClient
	setClient  *armprivatedns.RecordSetsClient
}

func newPrivateService(subscription string, credential azcore.TokenCredential, options *arm.ClientOptions) (service, error) {
	clients, err := armprivatedns.NewClientFactory(subscription, credential, options)
	if err != nil {
		return nil, err
	}
	return privateService{zoneClient: clients.NewPrivateZonesClient(), setClient: clients.NewRecordSetsClient()}, nil
}

// right implements service.
func (privateService) right(what, action string) string {
	if what == "zone" {
		return "Microsoft.Network/privateDnsZones/" + action
	}
	return "Microsoft.Network/privateDnsZones/*/" + action
}

// zones implements service.
func (p privateService) zones(ctx context.Context, group string, l *listlimit.Listing) ([]dns.Zone, error) {
	pager := p.zoneClient.NewListByResourceGroupPager(group, &armprivatedns.PrivateZonesClientListByResourceGroupOptions{Top: new(int32(page))})
	return allPages(ctx, pager, l, zoneSize, func(response armprivatedns.PrivateZonesClientListByResourceGroupResponse) (zones []dns.Zone, next *string) {
		for _, z := range response.Value {
			if z != nil {
				zones = append(zones, dns.Zone{ID: value(z.ID), Name: value(z.Name), Private: true, Version: privateRecordSets(z.Properties)})
			}
		}
		return zones, response.NextLink
	})
}

// privateRecordSets returns the number of record sets in a zone, or "" if it is unknown.
func privateRecordSets(p *armprivatedns.PrivateZoneProperties) string {
	if p == nil || p.NumberOfRecordSets == nil {
		return ""
	}
	return strconv.FormatInt(*p.NumberOfRecordSets, 10)
}

// list implements service.
func (p privateService) list(ctx context.Context, group, zone string, l *listlimit.Listing) ([]*stored, error) {
	pager := p.setClient.NewListPager(group, zone, &armprivatedns.RecordSetsClientListOptions{Top: new(int32(page))})
	return allPages(ctx, pager, l, (*stored).size, func(response armprivatedns.RecordSetsClientListResponse) (sets []*stored, next *string) {
		for _, r := range response.Value {
			if r != nil {
				sets = append(sets, fromPrivate(r))
			}
		}
		return sets, response.NextLink
	})
}

// get implements service.
func (p privateService) get(ctx context.Context, group, zone string, k key) (*stored, error) {
	response, err := p.setClient.Get(ctx, group, zone, armprivatedns.RecordType(k.recordType), k.name, nil)
	if err != nil {
		return nil, err
	}
	return fromPrivate(&response.RecordSet), nil
}

// put implements service.
func (p privateService) put(ctx context.Context, group, zone string, s *stored, etag string) (*stored, error) {
	condition := &armprivatedns.RecordSetsClientCreateOrUpdateOptions{IfNoneMatch: new("*")}
	if etag != "" {
		condition = &armprivatedns.RecordSetsClientCreateOrUpdateOptions{IfMatch: &etag}
	}
	response, err := p.setClient.CreateOrUpdate(ctx, group, zone, armprivatedns.RecordType(s.key.recordType), s.key.name, toPrivate(s), condition)
	if err != nil {
		return nil, err
	}
	return fromPrivate(&response.RecordSet), nil
}

// remove implements service.
func (p privateService) remove(ctx context.Context, group, zone string, k key, etag string) error {
	_, err := p.setClient.Delete(ctx, group, zone, armprivatedns.RecordType(k.recordType), k.name, &armprivatedns.RecordSetsClientDeleteOptions{IfMatch: &etag})
	return err
}

// fromPrivate returns a record set of Azure.
func fromPrivate(r *armprivatedns.RecordSet) *stored {
	s := &stored{key: newKey(value(r.Name), value(r.Type)), etag: value(r.Etag)}
	p := r.Properties
	if p == nil {
		return s
	}
	s.ttl, s.metadata, s.registered = value(p.TTL), plain(p.Metadata), value(p.IsAutoRegistered)
	switch s.key.recordType {
	case dns.TypeA:
		s.records = convertAll(p.ARecords, func(v *armprivatedns.ARecord) record { return record{text: value(v.IPv4Address)} })
	case dns.TypeAAAA:
		s.records = convertAll(p.AaaaRecords, func(v *armprivatedns.AaaaRecord) record { return record{text: value(v.IPv6Address)} })
	case dns.TypeCNAME:
		if p.CnameRecord != nil {
			s.records = []record{{text: value(p.CnameRecord.Cname)}}
		}
	case dns.TypeMX:
		s.records = convertAll(p.MxRecords, func(v *armprivatedns.MxRecord) record {
			return record{text: value(v.Exchange), numbers: []int32{value(v.Preference)}}
		})
	case dns.TypePTR:
		s.records = convertAll(p.PtrRecords, func(v *armprivatedns.PtrRecord) record { return record{text: value(v.Ptrdname)} })
	case dns.TypeSRV:
		s.records = convertAll(p.SrvRecords, func(v *armprivatedns.SrvRecord) record {
			return record{text: value(v.Target), numbers: []int32{value(v.Priority), value(v.Weight), value(v.Port)}}
		})
	case dns.TypeTXT:
		s.records = convertAll(p.TxtRecords, func(v *armprivatedns.TxtRecord) record { return record{strings: plainList(v.Value)} })
	}
	return s
}

// toPrivate returns a record set for Azure.
func toPrivate(s *stored) armprivatedns.RecordSet {
	p := &armprivatedns.RecordSetProperties{TTL: &s.ttl, Metadata: pointers(s.metadata)}
	for _, v := range s.records {
		switch s.key.recordType {
		case dns.TypeA:
			p.ARecords = append(p.ARecords, &armprivatedns.ARecord{IPv4Address: &v.text})
		case dns.TypeAAAA:
			p.AaaaRecords = append(p.AaaaRecords, &armprivatedns.AaaaRecord{IPv6Address: &v.text})
		case dns.TypeCNAME:
			p.CnameRecord = &armprivatedns.CnameRecord{Cname: &v.text}
		case dns.TypeMX:
			p.MxRecords = append(p.MxRecords, &armprivatedns.MxRecord{Exchange: &v.text, Preference: &v.numbers[0]})
		case dns.TypePTR:
			p.PtrRecords = append(p.PtrRecords, &armprivatedns.PtrRecord{Ptrdname: &v.text})
		case dns.TypeSRV:
			p.SrvRecords = append(p.SrvRecords, &armprivatedns.SrvRecord{Target: &v.text, Priority: &v.numbers[0], Weight: &v.numbers[1], Port: &v.numbers[2]})
		case dns.TypeTXT:
			p.TxtRecords = append(p.TxtRecords, &armprivatedns.TxtRecord{Value: pointerList(v.strings)})
		}
	}
	return armprivatedns.RecordSet{Properties: p}
}
