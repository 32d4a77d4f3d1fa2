package storetest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

func (h *handle) turn(now time.Time) {
	if h.bug != generationStuck {
		h.gen = max(h.gen+1, registry.Generation(max(0, now.UnixMicro())))
	}
	if h.bug == generationCounts {
		h.gen = registry.Generation(len(h.members) + 1)
	}
	if h.gen == 0 {
		h.gen = 1
	}
}

// bury ends the lives that are over.
func (h *handle) bury(now time.Time) {
	for id, m := range h.members {
		if !now.Before(m.ends) && h.bug != membersExpired {
			delete(h.members, id)
			if h.bug != expiryUnseen {
				h.turn(now)
			}
		}
	}
}

func (h *handle) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (v registry.View, err error) {
	if err := registry.Check(self, ttl); err != nil && h.bug != badHeartbeat {
		return v, err
	}
	err = h.call(ctx, "heartbeat", func(now time.Time) error {
		if h.bug == idsLowered {
			self.Instance.ID = instance.ID(strings.ToLower(string(self.Instance.ID)))
		}
		id := self.Instance.ID
		was, live := h.members[id]
		is := was
		is.Instance = self.Instance.Clone()
		if h.bug == labelsShared {
			is.Instance = self.Instance
		}
		if h.bug == labelsLost {
			is.Labels = nil
		}
		if !live && h.bug == joinForgotten {
			self.JoinedAt = time.Time{}
		}
		if !live || h.bug == joinMoves {
			is.JoinedAt = self.JoinedAt
			if self.JoinedAt.IsZero() {
				is.JoinedAt = now.UTC().Truncate(time.Microsecond)
			}
		}
		is.Draining, is.Leaving = was.Draining || self.Draining || h.marks[id], self.Leaving
		h.spoilMarks(&is, self)
		is.ends = now.Add(ttl)
		h.members[id] = is
		changed := !live || !was.Instance.Equal(is.Instance) || was.Draining != is.Draining || was.Leaving != is.Leaving
		if changed || h.bug == generationRestless {
			h.turn(now)
		}
		if !live || h.bug == hintPerBeat {
			h.hint(lease.Change{Kind: lease.ChangeJoined, Instance: string(id)})
		}
		v = h.view(now, id, known)
		return nil
	})
	return v, err
}

func (h *handle) spoilMarks(is *modelMember, self registry.Self) {
	switch h.bug {
	case beatClearsDrain:
		is.Draining = self.Draining
	case beatDrainIgnored:
		is.Draining = is.Draining && !self.Draining
	case leavingIsDrain:
		is.Draining, is.Leaving = is.Draining || self.Leaving, false
	}
}

func (h *handle) view(now time.Time, self instance.ID, known registry.Generation) registry.View {
	v := registry.View{Generation: h.gen, Unchanged: known != 0 && known == h.gen}
	for id, m := range h.members {
		m.TTLLeft = m.ends.Sub(now)
		if (id != self || h.bug == nextIsSelf) && (v.NextExpiry == 0 || m.TTLLeft < v.NextExpiry) {
			v.NextExpiry = m.TTLLeft
		}
		if h.bug != labelsShared {
			m.Instance = m.Instance.Clone()
		}
		if id == self {
			v.Self = m.Member
		}
		if !v.Unchanged {
			v.Members = append(v.Members, m.Member)
		}
	}
	registry.Sort(v.Members)
	if h.bug == membersCapped {
		v.Members = v.Members[:min(len(v.Members), 50)]
	}
	if h.bug == membersByID {
		slices.SortFunc(v.Members, func(a, b registry.Member) int { return strings.Compare(string(a.ID), string(b.ID)) })
	}
	return v
}

func (h *handle) Members(ctx context.Context) (v registry.View, err error) {
	err = h.call(ctx, "members", func(now time.Time) error { v = h.view(now, "", 0); return nil })
	return v, err
}

func (h *handle) BeginDrain(ctx context.Context, id instance.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return h.call(ctx, "drain", func(now time.Time) error {
		m, ok := h.members[id]
		if h.bug == drainOutlives {
			h.marks[id] = true
		}
		if ok && !m.Draining {
			m.Draining = true
			h.members[id] = m
			if h.bug != drainUnseen {
				h.turn(now)
			}
			h.hint(lease.Change{Kind: lease.ChangeDraining, Instance: string(id)})
		}
		return nil
	})
}

func (h *handle) Leave(ctx context.Context, id instance.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	return h.call(ctx, "leave", func(now time.Time) error {
		if h.bug == leaveTakesAll {
			delete(h.lives, id)
		}
		if _, ok := h.members[id]; ok {
			delete(h.members, id)
			h.turn(now)
			h.hint(lease.Change{Kind: lease.ChangeLeft, Instance: string(id)})
		}
		return nil
	})
}

func (h *handle) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	if err := status.Check(owner, ttl, records); err != nil && h.bug != statusUnchecked {
		return err
	}
	return h.call(ctx, "put", func(now time.Time) error {
		if !now.Before(h.lives[owner]) && h.bug != statusRevives {
			for k, r := range h.statuses {
				if r.Owner == owner {
					delete(h.statuses, k)
				}
			}
		}
		h.lives[owner] = now.Add(ttl)
		if h.bug == extendsAll {
			for o := range h.lives {
				h.lives[o] = now.Add(ttl)
			}
		}
		for _, r := range records {
			old, known := h.statuses[r.Key]
			older := old.Token > r.Token || old.Token == r.Token && old.Owner != owner && h.bug != equalTokenWins
			if known && older && now.Before(h.statusEnds(old)) && h.bug != statusIgnoresToken {
				continue
			}
			r.Since = now.UTC().Truncate(time.Microsecond)
			if known && old.Token == r.Token && old.State == r.State && h.bug != sinceMoves {
				r.Since = old.Since
			}
			if h.bug != statusOwnerKept || r.Owner == "" {
				r.Owner = owner
			}
			h.statuses[r.Key], h.ends[r.Key] = r, now.Add(ttl)
		}
		return nil
	})
}

func (h *handle) statusEnds(r status.Record) time.Time {
	switch h.bug {
	case statusForever:
		return time.Unix(1<<40, 0)
	case extendsNone:
		return h.ends[r.Key]
	}
	return h.lives[r.Owner]
}

func (h *handle) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	return h.read(ctx, func(k string) bool { return slices.Contains(keys, k) })
}

func (h *handle) AllStatuses(ctx context.Context) ([]status.Record, error) {
	return h.read(ctx, func(string) bool { return true })
}

func (h *handle) read(ctx context.Context, want func(string) bool) (list []status.Record, err error) {
	err = h.call(ctx, "statuses", func(now time.Time) error {
		for k, r := range h.statuses {
			ends := h.statusEnds(r)
			if want(k) && now.Before(ends) {
				r.TTLLeft = ends.Sub(now)
				list = append(list, r)
			}
		}
		return nil
	})
	slices.SortFunc(list, func(a, b status.Record) int { return strings.Compare(a.Key, b.Key) })
	if h.bug == statusUnordered {
		slices.Reverse(list)
	}
	return list, err
}
