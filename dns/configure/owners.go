package configure

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/awsaccess"
	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/crd"
	"github.com/signpostd/signpost/dns/owner/dynamodb"
	"github.com/signpostd/signpost/dns/plan"
	"github.com/signpostd/signpost/dns/provider"
)

func (o *Options) openDynamoDB(ctx context.Context, in Input, can provider.Capabilities) (owner.Owner, error) {
	r := o.Registry
	client, err := dynamodb.Open(ctx, awsaccess.Access{Region: r.DynamoDBRegion, Wrap: in.Wrap, Log: in.Log})
	if err != nil {
		return nil, err
	}
	txt, err := owner.NewTXT(o.txtOptions(in))
	if err != nil {
		return nil, err
	}
	return dynamodb.New(client, dynamodb.Options{
		Table: r.DynamoTable, OwnerID: r.OwnerID, ByTarget: can.ByTarget, TXT: txt, RemoveTXT: o.rules().Manages(dns.TypeTXT), Budget: listlimit.New(o.Reading), Problems: o.problems(in), Log: in.Log,
	})
}

func (o *Options) openCRD(in Input, can provider.Capabilities) (owner.Owner, error) {
	if in.REST == nil {
		return nil, errors.New("--registry=crd: there is no cluster: give --kubeconfig, or another registry")
	}
	return crd.New(crd.Options{
		Config: in.REST, Namespace: o.Registry.crdNamespace(),
		ID: o.Registry.OwnerID, OldOwner: o.Registry.MigrateFrom, ByTarget: can.ByTarget, Problems: o.problems(in), Log: in.Log,
	})
}

// providerAWSSD is the provider for Cloud Map, which keeps ownership itself. providerWebhook may be
// connected to it.
const (
	providerAWSSD   = "aws-sd"
	providerWebhook = "webhook"
)

// RegistryKind returns the registry in use. For Cloud Map it is always aws-sd, whatever --registry
// says, unless ownership is off (spec/dns.md §4.4).
func (o *Options) RegistryKind() string {
	if slices.Contains(o.Providers, providerAWSSD) && o.Registry.Kind != registryNone {
		return registryAWSSD
	}
	return o.Registry.Kind
}

func (o *Options) openDescriptions(in Input) (owner.Owner, error) {
	r := o.Registry
	options := owner.DescriptionOptions{OwnerID: r.OwnerID, OldOwnerID: r.MigrateFrom, Problems: o.problems(in)}
	if o.RegistryKind() == registryNone {
		options.OwnerID, options.OldOwnerID = "", ""
	}
	return owner.NewDescriptions(options)
}

// checkDescriptions returns an error for providers that don't keep descriptions, or that are
// combined with others.
func (o *Options) checkDescriptions() error {
	for _, name := range o.Providers {
		switch {
		case name == providerAWSSD && len(o.Providers) > 1:
			return errors.New("--provider=aws-sd: it keeps ownership in its own way, so it can't be with other providers: run a publisher for each")
		case o.RegistryKind() == registryAWSSD && name != providerAWSSD && name != providerWebhook:
			return fmt.Errorf("--registry=aws-sd: the provider %s has no descriptions of services: use --provider=aws-sd, or another registry", name)
		}
	}
	return nil
}

// refusal returns a function that says which record sets can't be owned: those that look like
// ownership records, and those whose ownership record's name would be too long. It is nil if
// ownership isn't kept in TXT records. It ignores record sets that aren't published anyway.
func refusal(own owner.Owner, rules *plan.Rules, domains *dns.DomainFilter) func(*dns.RecordSet) error {
	txt, ok := own.(*owner.TXT)
	if !ok {
		return nil
	}
	return func(r *dns.RecordSet) error {
		if !rules.Manages(r.Type) || !domains.Match(r.Name) {
			return nil
		}
		invalid := &dns.InvalidError{Name: r.Name, Type: r.Type}
		if txt.Forges(r) {
			invalid.Subject, invalid.Value = "target", strings.Join(r.Targets, " ")
			invalid.Reason = "an ownership record, which only Signpost itself may write: change the text"
			return invalid
		}
		if txt.OwnershipRecordName(r.Name, r.Type) == "" {
			invalid.Subject, invalid.Value = "name", r.Name
			invalid.Reason = fmt.Sprintf("the name of its ownership record would be too long, with a label of more than %d bytes or more than %d in all: "+
				"use a shorter name, or a shorter --txt-prefix or --txt-suffix", dns.MaxLabel, dns.MaxName)
			return invalid
		}
		return nil
	}
}

func (r Registry) crdNamespace() string { return cmp.Or(r.CRDNamespace, processNamespace()) }

// processNamespace returns the namespace of this process, or "" outside of a cluster.
func processNamespace() string {
	if namespace := os.Getenv("POD_NAMESPACE"); namespace != "" {
		return namespace
	}
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if err != nil {
		// The file exists only in a cluster.
		return ""
	}
	return strings.TrimSpace(string(text))
}
