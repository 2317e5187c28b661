package coredns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/signpostd/signpost/dns/listlimit"
	"github.com/signpostd/signpost/dns/provider"
	"github.com/signpostd/signpost/internal/sanitize"
)

const (
	// pageSize is the number of keys in one response. If the response is too large, it is divided by
	// smallerPage.
	pageSize    = 1024
	smallerPage = 8
	// maxResponse limits a response and a request, in bytes, as etcd itself does. Decoded, a response
	// may need 60 times as much memory, because an empty key takes two bytes.
	maxResponse = 2 << 20
)

// entrySize is the memory of a key without its texts, in bytes, including its listed record set.
const entrySize = 384

// store reads and writes the keys of etcd. The client is created at the first call, because with a
// password that requires a reachable etcd.
type store struct {
	// ctx is the context of the client.
	ctx    context.Context
	config clientv3.Config
	// wrap may restrict the client, for dry runs. It may be nil.
	wrap func(clientv3.KV) clientv3.KV

	// lock guards kv.
	lock *semaphore.Weighted
	kv   clientv3.KV
}

func (s *store) open(ctx context.Context) (clientv3.KV, error) {
	if err := s.lock.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer s.lock.Release(1)
	if s.kv != nil {
		return s.kv, nil
	}
	client, err := s.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", classify(err))
	}
	s.kv = client.KV
	if s.wrap != nil {
		s.kv = s.wrap(s.kv)
	}
	return s.kv, nil
}

// connect returns a client that is closed when the context of the store ends. With a password, the client
// authenticates first. It does so within the context of the client and not of the call, so the former is
// canceled if the call ends meanwhile.
func (s *store) connect(ctx context.Context) (*clientv3.Client, error) {
	config := s.config
	var cancel context.CancelFunc
	config.Context, cancel = context.WithCancel(s.ctx)
	disarm := context.AfterFunc(ctx, cancel)
	client, err := clientv3.New(config)
	if err != nil {
		cancel()
		return nil, cmp.Or(ctx.Err(), err)
	}
	if !disarm() {
		_ = client.Close()
		return nil, ctx.Err()
	}
	context.AfterFunc(s.ctx, func() {
		// The client is useless, so an error doesn't matter.
		_ = client.Close()
	})
	return client, nil
}

// read returns the keys from from up to but excluding to, sorted, and their common revision. The
// listing counts them.
func (s *store) read(ctx context.Context, from, to string, l *listlimit.Listing) (all []*mvccpb.KeyValue, revision int64, err error) {
	kv, err := s.open(ctx)
	if err != nil {
		return nil, 0, err
	}
	options := []clientv3.OpOption{clientv3.WithRange(to), clientv3.WithSort(clientv3.SortByKey, clientv3.SortAscend)}
	for size := int64(pageSize); ; {
		page, err := get(ctx, kv, from, append(slices.Clip(options), clientv3.WithLimit(size)))
		if status.Code(err) == codes.ResourceExhausted && size > 1 {
			size /= smallerPage
			size = max(size, 1)
			continue
		}
		if status.Code(err) == codes.ResourceExhausted {
			err = fmt.Errorf("%w: a response with one key may have %d bytes: %w", listlimit.ErrExceeded, maxResponse, err)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("read %s from etcd: %w", from, classify(err))
		}
		if revision == 0 {
			revision = page.Header.Revision
			options = append(options, clientv3.WithRev(revision))
		}
		for _, one := range page.Kvs {
			if string(one.Key) < from {
				return nil, 0, fmt.Errorf("read %s from etcd: %w: its list of keys has no end: the key %s comes after %s", from, listlimit.ErrExceeded, sanitize.Quote(string(one.Key)), sanitize.Quote(from))
			}
			from = string(one.Key) + "\x00"
			if err := l.Add(1, entrySize+len(one.Key)+2*len(one.Value)); err != nil {
				return nil, 0, err
			}
		}
		all = append(all, page.Kvs...)
		if !page.More {
			return all, revision, nil
		}
		if len(page.Kvs) == 0 {
			return nil, 0, fmt.Errorf("read %s from etcd: %w: its list of keys has no end: more keys are announced after a response without any", from, listlimit.ErrExceeded)
		}
	}
}

func get(ctx context.Context, kv clientv3.KV, key string, options []clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	return kv.Get(ctx, key, options...)
}

// write executes the operations if all conditions hold, and reports whether they did.
func (s *store) write(ctx context.Context, conditions []clientv3.Cmp, operations []clientv3.Op) (bool, error) {
	kv, err := s.open(ctx)
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(ctx, operationTimeout)
	defer cancel()
	done, err := kv.Txn(ctx).If(conditions...).Then(operations...).Commit()
	if err != nil {
		return false, fmt.Errorf("write to etcd: %w", classify(err))
	}
	return done.Succeeded, nil
}

// classify adds to an error of etcd the provider error for its effect on a write, if that is known.
func classify(err error) error {
	for _, refusal := range []error{
		rpctypes.ErrAuthFailed, rpctypes.ErrPermissionDenied, rpctypes.ErrInvalidAuthToken,
		rpctypes.ErrUserEmpty, rpctypes.ErrUserNotFound, rpctypes.ErrInvalidAuthMgmt,
	} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: %w: check ETCD_USERNAME and ETCD_PASSWORD, and the permissions of the user", provider.ErrCredentials, err)
		}
	}
	for _, refusal := range []error{rpctypes.ErrTooManyOps, rpctypes.ErrRequestTooLarge, rpctypes.ErrDuplicateKey, rpctypes.ErrEmptyKey} {
		if errors.Is(err, refusal) {
			return fmt.Errorf("%w: %w", provider.ErrRejected, err)
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: check that etcd runs at an address of ETCD_URLS (default %s), and the network on the way", err, defaultURL)
	}
	return err
}

// dryRun is a client that only reads.
type dryRun struct{ clientv3.KV }

// Put returns [provider.ErrDryRun].
func (dryRun) Put(context.Context, string, string, ...clientv3.OpOption) (*clientv3.PutResponse, error) {
	return nil, provider.ErrDryRun
}

// Delete returns [provider.ErrDryRun].
func (dryRun) Delete(context.Context, string, ...clientv3.OpOption) (*clientv3.DeleteResponse, error) {
	return nil, provider.ErrDryRun
}

// Compact returns [provider.ErrDryRun].
func (dryRun) Compact(context.Context, int64, ...clientv3.CompactOption) (*clientv3.CompactResponse, error) {
	return nil, provider.ErrDryRun
}

// Do allows only reading.
func (d dryRun) Do(ctx context.Context, op clientv3.Op) (clientv3.OpResponse, error) {
	if op.IsGet() {
		return d.KV.Do(ctx, op)
	}
	return clientv3.OpResponse{}, provider.ErrDryRun
}

// Txn returns a transaction that can't be committed.
func (dryRun) Txn(context.Context) clientv3.Txn { return dryTxn{} }

type dryTxn struct{}

// If implements clientv3.Txn.
func (t dryTxn) If(...clientv3.Cmp) clientv3.Txn { return t }

// Then implements clientv3.Txn.
func (t dryTxn) Then(...clientv3.Op) clientv3.Txn { return t }

// Else implements clientv3.Txn.
func (t dryTxn) Else(...clientv3.Op) clientv3.Txn { return t }

// Commit returns [provider.ErrDryRun].
func (dryTxn) Commit() (*clientv3.TxnResponse, error) { return nil, provider.ErrDryRun }
