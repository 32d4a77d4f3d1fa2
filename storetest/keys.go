package storetest

import (
	"errors"
	"strings"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

func keyChecks() []check {
	return []check{
		{id: "K01", name: "keys_are_compared_byte_for_byte", run: k01,
			sentence: "Keys are compared byte for byte: nothing is trimmed, folded, normalised, split or interpreted."},
		{id: "K02", name: "status_keys_and_instance_ids_too", run: k02, needs: []Capability{Registry, Status},
			sentence: "Status keys and instance IDs are compared byte for byte as well."},
		{id: "K03", name: "the_last_of_512_bytes_counts", run: k03,
			sentence: "Keys have up to 512 bytes, and all of them count."},
		{id: "K04", name: "impossible_keys_are_refused", run: k04,
			sentence: "A key that is empty, too long, not UTF-8 or has a NUL is refused with an *InvalidError that matches ErrInvalid, before anything is done."},
	}
}

// oddNames differ only in ways that some store or some library would not see.
func oddNames() []string {
	return []string{
		"a", "A", " a", "a ", "a\t", "a\n", "\u00e9", "e\u0301", "ss", "ß", "i", "İ", "ı", "🦊", "a/b", "a.b", "a:b", "a|b", "a,b", "a;b",
		"{x}", "{}", "x}", "{x", "%7B", "%", "_", "*", "?", "[a]", ">", "#", "$1", "\\", "\\\\", "'", "''", "\"", "'; DROP TABLE leases; --",
		"\x01", "\x7f", "null", "nil", "true", "0", "00", "-1", "1e3", "../a", "tenure:planner", "\u200b", "\ufeff",
	}
}

func k01(e *env) {
	sa, sb := e.session(e.a, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	names := oddNames()
	got, refused, err := e.acquire(e.a, sa, names...)
	e.must(err, "Acquire of odd keys")
	e.that(len(got) == len(names) && len(refused) == 0, "of %d odd keys that are all free, %d were granted", len(names), len(got))
	if l, ok := e.b.(lease.Lister); ok {
		list, err := l.Leases(e.ctx)
		e.must(err, "Leases")
		e.that(len(list) == len(names), "Leases lists %d of %d odd keys", len(list), len(names))
	}
	for i, n := range names {
		e.that(got[n].Key == n, "the odd key %q came back as %q", n, got[n].Key)
		if i%2 == 0 {
			e.release(e.a, sa, got[n])
		}
	}
	next, refused, err := e.acquire(e.b, sb, names...)
	e.must(err, "Acquire of odd keys")
	for i, n := range names {
		_, free := next[n]
		e.that(free == (i%2 == 0), "of the odd keys every other one was released; %q is free: %v", n, free)
		if i%2 == 1 {
			e.held(e.a, sa, got[n])
		}
	}
	e.that(len(next)+len(refused) == len(names), "of %d keys, %d were answered", len(names), len(next)+len(refused))
}

func k02(e *env) {
	names := oddNames()
	owner := e.owner()
	var recs []status.Record
	for i, n := range names {
		recs = append(recs, status.Record{Key: n, Name: n, State: status.Active, Token: uint64(i + 1), Info: n})
		self := registry.Self{Instance: instance.Instance{ID: instance.ID(n), Zone: n, Labels: map[string]string{n: n}}}
		v := e.beat(e.a, self, e.ages())
		e.that(v.Self.Instance.Equal(self.Instance), "the instance %q came back as %+v", n, v.Self.Instance)
	}
	e.put(e.a, owner, e.ages(), recs...)
	e.that(len(e.members(e.b).Members) == len(names), "of %d odd instances, %d are members", len(names), len(e.members(e.b).Members))
	for i, n := range names {
		e.present(e.b, recs[i], owner)
		if i%2 == 0 {
			e.must(e.b.Leave(e.ctx, instance.ID(n)), "Leave of %q", n)
		} else {
			e.must(e.b.BeginDrain(e.ctx, instance.ID(n)), "BeginDrain of %q", n)
		}
	}
	v := e.members(e.a)
	for i, n := range names {
		m, ok := v.Find(instance.ID(n))
		e.that(ok == (i%2 == 1) && m.Draining == ok, "of the odd instances every other one left and the rest drain; %q is %+v", n, m)
	}
}

func k03(e *env) {
	long := strings.Repeat("k", lease.MaxKeyLength-1)
	wide := strings.Repeat("é", lease.MaxKeyLength/2-1)
	for _, pair := range [][2]string{{long + "a", long + "b"}, {wide + "aa", wide + "ab"}} {
		sa := e.openAs(e.a, lease.Session{ID: pair[0], Owner: instance.ID(pair[0]), TTL: e.long()})
		sb := e.openAs(e.b, lease.Session{ID: pair[1], Owner: instance.ID(pair[1]), TTL: e.long()})
		la, lb := e.grant(e.a, sa, pair[0]), e.grant(e.b, sb, pair[1])
		r := e.refused(e.b, sb, pair[0])
		e.names(r, sa.Owner)
		e.release(e.a, sa, la)
		e.held(e.b, sb, lb)
		e.refused(e.a, sa, pair[1])
		e.closeSession(e.a, sa)
		e.held(e.b, sb, lb)
		e.closeSession(e.b, sb)
	}
}

func k04(e *env) {
	sa := e.session(e.a, e.long())
	l := e.grant(e.a, sa, "good")
	typed := func(err error, call, bad string) {
		e.Helper()
		var invalid *lease.InvalidError
		e.that(errors.Is(err, lease.ErrInvalid) && errors.As(err, &invalid), "%s with %.20q (%d bytes) answered %v, want an *InvalidError", call, bad, len(bad), err)
		e.that(invalid.Field != "" && invalid.Remedy != "", "the error of %s names no field or no remedy: %+v", call, invalid)
		e.that(!errors.Is(err, lease.ErrUnavailable), "the error of %s matches both ErrInvalid and ErrUnavailable: %v", call, err)
	}
	for _, bad := range []string{"", "a\x00b", "\x00", "\xff", "a\xc3", "\xed\xa0\x80", strings.Repeat("k", 513), strings.Repeat("k", 10_000)} {
		_, err := e.a.Acquire(e.ctx, sa, []string{bad})
		typed(err, "Acquire", bad)
		_, err = e.a.OpenSession(e.ctx, lease.Session{ID: bad, Owner: sa.Owner, TTL: e.long()})
		typed(err, "OpenSession with the ID", bad)
		_, err = e.a.OpenSession(e.ctx, lease.Session{ID: sa.ID, Owner: instance.ID(bad), TTL: e.long()})
		typed(err, "OpenSession with the owner", bad)
		if r, ok := e.a.(lease.Revoker); ok {
			typed(r.Revoke(e.ctx, bad), "Revoke", bad)
		}
		if e.has(Status) {
			err = e.a.PutStatus(e.ctx, sa.Owner, e.ages(), []status.Record{{Key: bad, State: status.Active}})
			typed(err, "PutStatus", bad)
		}
	}
	e.held(e.a, sa, l)
}
