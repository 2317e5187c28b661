package provider

import "sync"

// Accounts has what the publishers of a process share because they use the same account of a service:
// rate limits, because services count the requests of an account. The zero value is ready. A nil
// Accounts shares nothing. All methods may be called from any goroutine.
type Accounts struct {
	mu     sync.Mutex
	values map[accountKey]any
}

type accountKey struct{ service, account string }

// Shared is a value that belongs to an account, such as its rate limit. [NewShared] creates it.
// All methods may be called from any goroutine.
type Shared[T any] struct {
	accounts *Accounts
	service  string
	create   func() T

	mu     sync.Mutex
	chosen bool
	value  T
}

// NewShared returns a value of a service, which create makes for each account. All values of a service
// must have the same type.
func NewShared[T any](accounts *Accounts, service string, create func() T) *Shared[T] {
	return &Shared[T]{accounts: accounts, service: service, create: create}
}

// Of returns the value of an account. The account of the first call counts: credentials that are
// renewed stay those of the same account.
func (s *Shared[T]) Of(account string) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.chosen {
		s.chosen, s.value = true, valueOf(s.accounts, accountKey{s.service, account}, s.create)
	}
	return s.value
}

// Get returns the value of the account that is known from [Shared.Of]. Without one, it is not shared.
func (s *Shared[T]) Get() T {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.chosen {
		s.chosen, s.value = true, s.create()
	}
	return s.value
}

// valueOf returns the value of an account, and creates it if necessary.
func valueOf[T any](a *Accounts, key accountKey, create func() T) T {
	if a == nil {
		return create()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if value, ok := a.values[key].(T); ok {
		return value
	}
	if a.values == nil {
		a.values = map[accountKey]any{}
	}
	value := create()
	a.values[key] = value
	return value
}
