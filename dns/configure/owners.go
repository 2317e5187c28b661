package configure

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"

	"github.com/signpostd/signpost/dns"
	"github.com/signpostd/signpost/dns/owner"
	"github.com/signpostd/signpost/dns/owner/crd"
	"github.com/signpostd/signpost/dns/owner/dynamodb"
)

func (o *Options) openDynamoDB(ctx context.Context, in Input) (owner.Owner, error) {
	r := o.Registry
	client, err := dynamodb.Open(ctx, dynamodb.Access{Region: r.DynamoDBRegion, Wrap: in.Wrap})
	if err != nil {
		return nil, err
	}
	txt, err := owner.NewTXT(o.txtOptions(in))
	if err != nil {
		return nil, err
	}
	return dynamodb.New(client, dynamodb.Options{
		Table: r.DynamoTable, OwnerID: r.OwnerID, TXT: txt, RemoveTXT: o.rules().Manages(dns.TypeTXT), Problems: o.problems(in),
	})
}

func (o *Options) openCRD(in Input) (owner.Owner, error) {
	if in.REST == nil {
		return nil, errors.New("--registry=crd: there is no cluster: give --kubeconfig, or another registry")
	}
	return crd.New(crd.Options{
		Config: in.REST, Namespace: cmp.Or(o.Registry.CRDNamespace, processNamespace()),
		ID: o.Registry.OwnerID, OldOwner: o.Registry.MigrateFrom, Log: in.Log,
	})
}

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
