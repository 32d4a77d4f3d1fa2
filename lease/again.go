package lease

// A store that lost its latest writes may have lost Releases among them. A Verify that was sent before such a Release,
// and is carried out late, while the store is frozen, then writes its lease again: a lease that nobody knows of,
// in a session that lives on. So once a new incarnation has thawed, when no Verify writes anything any more, what
// ended here is released again. That has no effect on whatever is not such a remnant.

// releaseAgain queues the release of what ended here. The mutex is held, and there is a session.
func (k *Keeper) releaseAgain() {
	for key := range k.before {
		if k.ended[key] == 0 {
			k.releaseOnceMore(key)
		}
	}
	for key := range k.ended {
		k.releaseOnceMore(key)
	}
}

func (k *Keeper) releaseOnceMore(key string) {
	token := k.newestEnded(key)
	e := k.entries[key]
	switch {
	case e == nil:
		e = k.newEntry(key)
	case e.hold != nil && !e.hold.releasing && e.hold.lease.Token == token:
		return // it is lost, and its worker has not returned: its release is still to come
	}
	e.strays++
	k.releases = append(k.releases, pending{lease: Lease{Key: key, Owner: k.owner, Session: k.session.ID, Token: token}, entry: e})
	k.reschedule(e)
}
