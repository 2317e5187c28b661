package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// asTable asks for what kubectl shows: the API server makes the table.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// showSlices shows the EndpointSlices of the shop, of which there have to be this many.
func (s *environment) showSlices(ctx context.Context, count int) error {
	say("kubectl -n shop get endpointslices")
	text, err := s.client.DiscoveryV1().RESTClient().Get().Namespace("shop").Resource("endpointslices").SetHeader("Accept", asTable).Do(ctx).Raw()
	if err != nil {
		return fmt.Errorf("list EndpointSlices: %w", err)
	}
	var table metav1.Table
	if err := json.Unmarshal(text, &table); err != nil {
		return fmt.Errorf("read the table of EndpointSlices: %w", err)
	}
	printTable(&table)
	if len(table.Rows) != count {
		return fmt.Errorf("there are %d EndpointSlices in shop, want %d", len(table.Rows), count)
	}
	return nil
}

// printTable prints a table as kubectl does.
func printTable(table *metav1.Table) {
	if len(table.Rows) == 0 {
		fmt.Println("  No resources found in shop namespace.")
		return
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	printRow(w, table, func(column int) any { return strings.ToUpper(table.ColumnDefinitions[column].Name) })
	for _, row := range table.Rows {
		printRow(w, table, func(column int) any { return row.Cells[column] })
	}
	w.Flush()
}

func printRow(w *tabwriter.Writer, table *metav1.Table, cell func(column int) any) {
	var cells []string
	for i, column := range table.ColumnDefinitions {
		if column.Priority == 0 { // the others are for -o wide
			cells = append(cells, fmt.Sprint(cell(i)))
		}
	}
	fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
}

// published waits until the EndpointSlices of a Service have that many ready endpoints.
func (s *environment) published(ctx context.Context, service string, count int) error {
	return s.waitFor(ctx, "EndpointSlices of "+service, time.Minute, func() (bool, error) {
		endpoints, err := s.readyEndpoints(ctx, service)
		if err != nil {
			return false, err
		}
		return len(endpoints) == count, fmt.Errorf("they have %v, want %d ready endpoints", endpoints, count)
	})
}

// readyEndpoints returns the addresses and ports in the EndpointSlices of a Service, in order.
func (s *environment) readyEndpoints(ctx context.Context, service string) ([]string, error) {
	list, err := s.slicesOf(ctx, service)
	var ready []string
	for _, slice := range list {
		for _, e := range slice.Endpoints {
			for _, p := range slice.Ports {
				if e.Conditions.Ready == nil || *e.Conditions.Ready {
					ready = append(ready, net.JoinHostPort(e.Addresses[0], strconv.Itoa(int(*p.Port))))
				}
			}
		}
	}
	slices.Sort(ready)
	return ready, err
}

func (s *environment) slicesOf(ctx context.Context, service string) ([]discoveryv1.EndpointSlice, error) {
	list, err := s.client.DiscoveryV1().EndpointSlices("shop").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		return nil, fmt.Errorf("list the EndpointSlices of %s: %w", service, err)
	}
	return list.Items, nil
}
