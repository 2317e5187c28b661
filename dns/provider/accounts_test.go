package provider

import "testing"

// Publishers share the value of an account of a service, and of no other one.
func TestAccounts(t *testing.T) {
	accounts := new(Accounts)
	of := func(in *Accounts, service, account string) *int {
		return NewShared(in, service, func() *int { return new(int) }).Of(account)
	}
	first := of(accounts, "route53", "1")
	if of(accounts, "route53", "1") != first {
		t.Error("two values for one account")
	}
	for name, other := range map[string]*int{
		"another account": of(accounts, "route53", "2"), "another service": of(accounts, "cloudmap", "1"), "another process": of(new(Accounts), "route53", "1"), "nothing shared": of(nil, "route53", "1"),
	} {
		if other == first {
			t.Errorf("%s has the same value", name)
		}
	}
	renewed := NewShared(accounts, "route53", func() *int { return new(int) })
	if renewed.Of("1") != first || renewed.Of("2") != first || renewed.Get() != first {
		t.Error("renewed credentials have another value")
	}
	unknown := NewShared(accounts, "route53", func() *int { return new(int) })
	if own := unknown.Get(); own == first || unknown.Of("1") != own {
		t.Error("an unknown account has the value of a known one, or two values")
	}
}
