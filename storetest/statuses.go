package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/status"
)

func statuses() []check {
	sts := []Capability{Status}
	return []check{
		{id: "S01", name: "records_come_back_as_they_were", run: s01, needs: sts,
			sentence: "Statuses answers the live records of the keys, ordered by key, absent ones left out; AllStatuses answers every one."},
		{id: "S02", name: "records_expire_with_their_owner", run: s02, needs: sts, slow: true,
			sentence: "A record lives for its TTL by the store's clock, and an expired one is never answered."},
		{id: "S03", name: "an_older_token_never_overwrites", run: s03, needs: sts,
			sentence: "A record with an older token is skipped silently; an equal token overwrites only a record of the same owner."},
		{id: "S04", name: "one_write_extends_all_of_an_owners_records", run: s04, needs: sts, slow: true,
			sentence: "PutStatus extends the life of all of that owner's records, and only of that owner's; an empty batch only extends."},
		{id: "S06", name: "invalid_records_are_refused_whole", run: s06, needs: sts,
			sentence: "Arguments are checked before anything is done: one bad record refuses the batch with ErrInvalid, and what was there stays."},
		{id: "S07", name: "since_is_when_the_state_began", run: s07, needs: sts,
			sentence: "Since is the store's time at which this state of this term was first written."},
		{id: "S08", name: "batches_of_any_size", run: s08, needs: sts,
			sentence: "Any number of records is written and read in one call each, ordered by key."},
		{id: "S09", name: "records_belong_to_the_caller", run: s09, needs: sts,
			sentence: "What is passed and returned shares no memory with the store, and each record's owner is the one who writes."},
		{id: "S10", name: "the_three_contracts_do_not_mix", run: s10, needs: []Capability{Registry, Status},
			sentence: "A lease, an instance and a status of one name are three things."},
		{id: "S11", name: "an_expired_owner_brings_nothing_back", run: s11, needs: sts, slow: true,
			sentence: "A record that has expired stays gone when its owner writes again."},
	}
}

func s01(e *env) {
	owner := e.owner()
	recs := []status.Record{
		{Key: "b", Name: "the second", State: status.Active, Token: 1 << 52, Info: "why: é\n\"'{}\\"},
		{Key: "a", State: status.Transferring, Token: 1<<63 - 1},
		{Key: "Z", State: status.Inactive, Token: 1},
	}
	e.put(e.a, owner, e.ages(), recs...)
	e.each(func(s Store) {
		for _, want := range recs {
			got := e.present(s, want, owner)
			e.that(!got.Since.IsZero() && got.TTLLeft > 0 && got.TTLLeft <= e.ages()+e.unit, "the record of %q has Since %v and TTLLeft %v", got.Key, got.Since, got.TTLLeft)
		}
		some, err := s.Statuses(e.ctx, []string{"b", "absent", "Z", "b"})
		e.must(err, "Statuses")
		e.that(slices.Equal(statusKeys(some), []string{"Z", "b"}), "Statuses of b, absent, Z, b answered %q, want Z and b", statusKeys(some))
		all, err := s.AllStatuses(e.ctx)
		e.must(err, "AllStatuses")
		e.that(slices.Equal(statusKeys(all), []string{"Z", "a", "b"}), "AllStatuses answered %q, want Z, a and b", statusKeys(all))
		none, err := s.Statuses(e.ctx, nil)
		e.that(err == nil && len(none) == 0, "Statuses of no key answered %d records, %v", len(none), err)
	})
}

func statusKeys(recs []status.Record) []string {
	keys := make([]string, len(recs))
	for i, r := range recs {
		keys[i] = r.Key
	}
	return keys
}

func s02(e *env) {
	ttl := 3 * e.unit
	goes, stays := e.owner(), e.owner()
	r := status.Record{Key: "goes", State: status.Active, Token: 7}
	e.put(e.b, stays, e.ages(), status.Record{Key: "stays", State: status.Active, Token: 7})
	life := timed(ttl, func() { e.put(e.a, goes, ttl, r) })
	for {
		sent := time.Now()
		_, ok := e.status(e.b, "goes")
		now := time.Now()
		if !ok {
			e.that(!now.Before(life.earliest.Add(-e.precision())), "the record was gone %v before its TTL of %v", life.earliest.Sub(now), ttl)
			break
		}
		e.that(sent.Before(life.latest.Add(e.unit)), "the record is still answered %v after its TTL", sent.Sub(life.latest))
		e.sleep(e.unit / 20)
	}
	all, err := e.a.AllStatuses(e.ctx)
	e.must(err, "AllStatuses")
	e.that(slices.Equal(statusKeys(all), []string{"stays"}), "AllStatuses answered %q, want only the live one", statusKeys(all))
	e.put(e.a, goes, e.ages(), r)
	e.present(e.b, r, goes)
}

func s03(e *env) {
	old, next := e.owner(), e.owner()
	rec := func(state status.State, token uint64) status.Record {
		return status.Record{Key: "k", State: state, Token: token}
	}
	e.put(e.a, old, e.ages(), rec(status.Active, 10))
	e.put(e.a, old, e.ages(), rec(status.Transferring, 10))
	e.present(e.b, rec(status.Transferring, 10), old)
	e.put(e.b, next, e.ages(), rec(status.Active, 10))
	e.present(e.a, rec(status.Transferring, 10), old)
	e.put(e.b, next, e.ages(), rec(status.Active, 11))
	e.put(e.a, old, e.ages(), rec(status.Inactive, 10), status.Record{Key: "other", State: status.Active, Token: 1})
	e.present(e.a, rec(status.Active, 11), next)
	e.present(e.b, status.Record{Key: "other", State: status.Active, Token: 1}, old)
	e.put(e.b, next, e.ages(), rec(status.Inactive, 9))
	e.present(e.a, rec(status.Active, 11), next)
}

func s04(e *env) {
	ttl := 8 * e.unit
	busy, idle, silent := e.owner(), e.owner(), e.owner()
	rec := func(k string) status.Record { return status.Record{Key: k, State: status.Active, Token: 1} }
	e.put(e.a, busy, ttl, rec("busy-1"), rec("busy-2"))
	e.put(e.a, idle, ttl, rec("idle-1"), rec("idle-2"))
	e.put(e.a, silent, ttl, rec("silent"))
	for range 4 {
		e.sleep(3 * e.unit)
		e.put(e.a, busy, ttl, rec("busy-2"))
		e.put(e.b, idle, ttl)
	}
	for _, k := range []string{"busy-1", "busy-2"} {
		e.present(e.b, rec(k), busy)
	}
	for _, k := range []string{"idle-1", "idle-2"} {
		e.present(e.b, rec(k), idle)
	}
	_, ok := e.status(e.a, "silent")
	e.that(!ok, "a record lives on though its owner wrote nothing for %v", 12*e.unit)
	e.sleep(ttl + e.unit)
	all, err := e.a.AllStatuses(e.ctx)
	e.must(err, "AllStatuses")
	e.that(len(all) == 0, "records outlive their owners: %q", statusKeys(all))
}

func s06(e *env) {
	owner := e.owner()
	good := status.Record{Key: "good", State: status.Active, Token: 1, Info: strings.Repeat("i", status.MaxInfo), Name: strings.Repeat("n", 512)}
	e.put(e.a, owner, e.ages(), good)
	next := status.Record{Key: "good", State: status.Inactive, Token: 2}
	for what, bad := range map[string]status.Record{
		"info of 4097 bytes": {Key: "bad", State: status.Active, Info: strings.Repeat("i", status.MaxInfo+1)},
		"info not in UTF-8":  {Key: "bad", State: status.Active, Info: "\xff"},
		"no state":           {Key: "bad"},
		"an unknown state":   {Key: "bad", State: "running"},
		"an empty key":       {State: status.Active},
		"a key with NUL":     {Key: "a\x00", State: status.Active},
		"a long name":        {Key: "bad", State: status.Active, Name: strings.Repeat("n", 513)},
	} {
		err := e.a.PutStatus(e.ctx, owner, e.ages(), []status.Record{next, bad})
		e.that(errors.Is(err, status.ErrInvalid), "PutStatus with %s answered %v, want ErrInvalid", what, err)
	}
	for _, ttl := range []time.Duration{0, -1, 999 * time.Microsecond, 24*time.Hour + 1} {
		err := e.a.PutStatus(e.ctx, owner, ttl, []status.Record{next})
		e.that(errors.Is(err, status.ErrInvalid), "PutStatus with a TTL of %v answered %v, want ErrInvalid", ttl, err)
	}
	err := e.a.PutStatus(e.ctx, "", e.ages(), []status.Record{next})
	e.that(errors.Is(err, status.ErrInvalid), "PutStatus without an owner answered %v, want ErrInvalid", err)
	e.present(e.b, good, owner)
	all, err := e.b.AllStatuses(e.ctx)
	e.must(err, "AllStatuses")
	e.that(len(all) == 1, "a refused batch left %q behind", statusKeys(all))
}

func s07(e *env) {
	owner := e.owner()
	r := status.Record{Key: "k", State: status.Active, Token: 1}
	e.put(e.a, owner, e.ages(), r)
	began := e.present(e.b, r, owner).Since
	for range 3 {
		e.sleep(e.unit / 20)
		r.Info += "more "
		e.put(e.a, owner, e.ages(), r)
		got := e.present(e.b, r, owner).Since
		e.that(got.Equal(began), "writing the same state again moved Since from %v to %v", began, got)
	}
	for _, change := range []func(){func() { r.State = status.Transferring }, func() { r.Token++ }} {
		e.sleep(e.unit / 20)
		change()
		e.put(e.a, owner, e.ages(), r)
		got := e.present(e.b, r, owner).Since
		e.that(got.After(began), "a new state or term left Since at %v", began)
		began = got
	}
}

func s08(e *env) {
	owner := e.owner()
	const n = 1200
	keys := makeKeys("status", n)
	recs := make([]status.Record, n)
	for i, k := range slices.Backward(keys) {
		recs[n-1-i] = status.Record{Key: k, State: status.Active, Token: uint64(i + 1), Info: fmt.Sprintf("info %d", i)}
	}
	e.put(e.a, owner, 24*time.Hour, recs...)
	for _, read := range []func() ([]status.Record, error){
		func() ([]status.Record, error) { return e.b.Statuses(e.ctx, keys) },
		func() ([]status.Record, error) { return e.b.AllStatuses(e.ctx) },
	} {
		got, err := read()
		e.must(err, "reading %d records", n)
		e.that(slices.Equal(statusKeys(got), keys), "of %d records, %d came back, or out of order", n, len(got))
		for i, r := range got {
			e.that(r.Token == uint64(i+1) && r.Info == fmt.Sprintf("info %d", i), "record %d came back as %+v", i, r)
			e.that(r.TTLLeft > 23*time.Hour && r.TTLLeft <= 24*time.Hour+time.Second, "a record written for 24 h has %v left", r.TTLLeft)
		}
	}
	e.put(e.a, owner, e.ages())
}

func s09(e *env) {
	owner := e.owner()
	recs := []status.Record{{Key: "k", State: status.Active, Token: 1, Owner: "someone else"}}
	e.put(e.a, owner, e.ages(), recs...)
	recs[0] = status.Record{Key: "changed"}
	want := status.Record{Key: "k", State: status.Active, Token: 1}
	for range 2 {
		e.present(e.a, want, owner)
		all, err := e.a.AllStatuses(e.ctx)
		e.must(err, "AllStatuses")
		e.that(len(all) == 1 && all[0].Key == "k", "the store changed with a slice that was handed out: %+v", all)
		all[0] = status.Record{Key: "overwritten"}
	}
}

func s10(e *env) {
	self := e.self()
	id := self.Instance.ID
	name := string(id)
	sess := e.openAs(e.a, sessionNamed(name, e.long()))
	l := e.grant(e.a, sess, name)
	e.beat(e.a, self, e.ages())
	r := status.Record{Key: name, State: status.Active, Token: l.Token}
	e.put(e.a, id, e.ages(), r)
	e.must(e.a.Leave(e.ctx, id), "Leave")
	e.held(e.b, sess, l)
	e.present(e.b, r, id)
	e.beat(e.a, self, e.ages())
	e.closeSession(e.a, sess)
	e.member(e.b, id)
	e.present(e.b, r, id)
}

func s11(e *env) {
	ttl := 2 * e.unit
	owner := e.owner()
	e.put(e.a, owner, ttl, status.Record{Key: "old", State: status.Active, Token: 1})
	e.sleep(ttl + e.unit)
	e.put(e.a, owner, e.ages(), status.Record{Key: "new", State: status.Active, Token: 1})
	all, err := e.b.AllStatuses(e.ctx)
	e.must(err, "AllStatuses")
	e.that(slices.Equal(statusKeys(all), []string{"new"}), "an owner that had expired wrote one record, and AllStatuses answers %q", statusKeys(all))
}
