package azure

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/dns/armdns"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/privatedns/armprivatedns"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/listlimit"
)

// privateService is the API for private zones. Its record sets have the fields of those of public zones, in
// types of another package.
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

func (p privateService) zones(ctx context.Context, group string, l *listlimit.Listing) ([]dns.Zone, error) {
	pager := p.zoneClient.NewListByResourceGroupPager(group, &armprivatedns.PrivateZonesClientListByResourceGroupOptions{Top: new(int32(page))})
	return allPages(ctx, pager, l, zoneSize, func(response armprivatedns.PrivateZonesClientListByResourceGroupResponse) (zones []dns.Zone, next *string, err error) {
		if response.Value == nil {
			return nil, nil, incomplete("list of zones")
		}
		for _, z := range response.Value {
			if z != nil {
				zones = append(zones, dns.Zone{ID: value(z.ID), Name: value(z.Name), Private: true, Version: version(value(z.Properties).NumberOfRecordSets)})
			}
		}
		return zones, response.NextLink, nil
	})
}

func (p privateService) list(ctx context.Context, group, zone string, l *listlimit.Listing) ([]*stored, error) {
	pager := p.setClient.NewListPager(group, zone, &armprivatedns.RecordSetsClientListOptions{Top: new(int32(page))})
	return allPages(ctx, pager, l, (*stored).size, func(response armprivatedns.RecordSetsClientListResponse) (sets []*stored, next *string, err error) {
		if response.Value == nil {
			return nil, nil, incomplete("list of record sets")
		}
		for _, r := range response.Value {
			if r != nil {
				sets = append(sets, fromPrivate(r))
			}
		}
		return sets, response.NextLink, nil
	})
}

func (p privateService) get(ctx context.Context, group, zone string, k key) (*stored, error) {
	response, err := p.setClient.Get(ctx, group, zone, armprivatedns.RecordType(k.recordType), k.name, nil)
	if err != nil {
		return nil, err
	}
	if response.Name == nil {
		return nil, incomplete("record set")
	}
	return fromPrivate(&response.RecordSet), nil
}

func (p privateService) put(ctx context.Context, group, zone string, s *stored, etag string) (*stored, error) {
	condition := &armprivatedns.RecordSetsClientCreateOrUpdateOptions{IfNoneMatch: new("*")}
	if etag != "" {
		condition = &armprivatedns.RecordSetsClientCreateOrUpdateOptions{IfMatch: &etag}
	}
	response, err := p.setClient.CreateOrUpdate(ctx, group, zone, armprivatedns.RecordType(s.key.recordType), s.key.name, toPrivate(s), condition)
	if err != nil {
		return nil, err
	}
	if response.Name == nil {
		return nil, incomplete("record set")
	}
	return fromPrivate(&response.RecordSet), nil
}

func (p privateService) remove(ctx context.Context, group, zone string, k key, etag string) error {
	_, err := p.setClient.Delete(ctx, group, zone, armprivatedns.RecordType(k.recordType), k.name, &armprivatedns.RecordSetsClientDeleteOptions{IfMatch: &etag})
	return err
}

func fromPrivate(r *armprivatedns.RecordSet) *stored {
	public := &armdns.RecordSet{Name: r.Name, Type: r.Type, Etag: r.Etag}
	p := r.Properties
	if p == nil {
		return fromPublic(public)
	}
	public.Properties = &armdns.RecordSetProperties{
		TTL: p.TTL, Metadata: p.Metadata, CnameRecord: (*armdns.CnameRecord)(p.CnameRecord),
		ARecords:    convertAll(p.ARecords, func(v *armprivatedns.ARecord) *armdns.ARecord { return (*armdns.ARecord)(v) }),
		AaaaRecords: convertAll(p.AaaaRecords, func(v *armprivatedns.AaaaRecord) *armdns.AaaaRecord { return (*armdns.AaaaRecord)(v) }),
		MxRecords:   convertAll(p.MxRecords, func(v *armprivatedns.MxRecord) *armdns.MxRecord { return (*armdns.MxRecord)(v) }),
		PtrRecords:  convertAll(p.PtrRecords, func(v *armprivatedns.PtrRecord) *armdns.PtrRecord { return (*armdns.PtrRecord)(v) }),
		SrvRecords:  convertAll(p.SrvRecords, func(v *armprivatedns.SrvRecord) *armdns.SrvRecord { return (*armdns.SrvRecord)(v) }),
		TxtRecords:  convertAll(p.TxtRecords, func(v *armprivatedns.TxtRecord) *armdns.TxtRecord { return (*armdns.TxtRecord)(v) }),
	}
	s := fromPublic(public)
	s.registered = value(p.IsAutoRegistered)
	return s
}

func toPrivate(s *stored) armprivatedns.RecordSet {
	p := toPublic(s).Properties
	return armprivatedns.RecordSet{Properties: &armprivatedns.RecordSetProperties{
		TTL: p.TTL, Metadata: p.Metadata, CnameRecord: (*armprivatedns.CnameRecord)(p.CnameRecord),
		ARecords:    convertAll(p.ARecords, func(v *armdns.ARecord) *armprivatedns.ARecord { return (*armprivatedns.ARecord)(v) }),
		AaaaRecords: convertAll(p.AaaaRecords, func(v *armdns.AaaaRecord) *armprivatedns.AaaaRecord { return (*armprivatedns.AaaaRecord)(v) }),
		MxRecords:   convertAll(p.MxRecords, func(v *armdns.MxRecord) *armprivatedns.MxRecord { return (*armprivatedns.MxRecord)(v) }),
		PtrRecords:  convertAll(p.PtrRecords, func(v *armdns.PtrRecord) *armprivatedns.PtrRecord { return (*armprivatedns.PtrRecord)(v) }),
		SrvRecords:  convertAll(p.SrvRecords, func(v *armdns.SrvRecord) *armprivatedns.SrvRecord { return (*armprivatedns.SrvRecord)(v) }),
		TxtRecords:  convertAll(p.TxtRecords, func(v *armdns.TxtRecord) *armprivatedns.TxtRecord { return (*armprivatedns.TxtRecord)(v) }),
	}}
}
