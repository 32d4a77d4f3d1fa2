package redisstore

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/registry"
)

// Heartbeat implements registry.Registry. It is one script: the membership comes with it where it
// has changed.
func (s *Store) Heartbeat(ctx context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	args, err := s.beatArgs(self, ttl, known)
	if err != nil {
		return registry.View{}, err
	}
	r, err := s.run(ctx, heartbeatScript, s.keys.forMembers(), args...)
	return beaten(self.Instance.ID, ttl, r, err)
}

// beatArgs checks a heartbeat and writes it down.
func (s *Store) beatArgs(self registry.Self, ttl time.Duration, known registry.Generation) ([]string, error) {
	if err := registry.Check(self, ttl); err != nil {
		return nil, err
	}
	description, err := json.Marshal(self.Instance)
	if err != nil {
		return nil, invalid("instance", self.Instance, err.Error())
	}
	joined := ""
	if !self.JoinedAt.IsZero() {
		joined = strconv.FormatInt(self.JoinedAt.UnixMicro(), 10)
	}
	return []string{string(self.Instance.ID), s.keys.channel,
		ceil(ttl), string(description), joined, flag(self.Draining), flag(self.Leaving), decimal(uint64(known))}, nil
}

// beaten is the answer to a heartbeat.
func beaten(id instance.ID, ttl time.Duration, r reply, err error) (registry.View, error) {
	if err != nil {
		return registry.View{}, err
	}
	v, err := r.beat(id, ttl)
	if err != nil {
		return registry.View{}, unavailable(heartbeatScript.name, err)
	}
	return v, nil
}

// beat reads the answer to a heartbeat: time, generation, the own record, the next expiry among the
// others, and the membership unless it is known.
func (r reply) beat(id instance.ID, ttl time.Duration) (v registry.View, err error) {
	now, generation, err := r.clock()
	if err != nil {
		return v, err
	}
	v.Generation = generation
	own, err := r.text(3)
	if err != nil {
		return v, err
	}
	if v.Self, err = parseMember(id, own); err != nil {
		return v, err
	}
	v.Self.TTLLeft = ttl
	next, err := r.text(4)
	if err != nil {
		return v, err
	}
	if next != "" {
		if v.NextExpiry, err = left(next, now); err != nil {
			return v, err
		}
		v.NextExpiry = max(v.NextExpiry, time.Microsecond) // one that was not cleared away yet is due at once
	}
	if v.Unchanged = len(r) <= 5; !v.Unchanged {
		v.Members, err = r.members(5, now)
	}
	return v, err
}

// Members implements registry.Registry.
func (s *Store) Members(ctx context.Context) (registry.View, error) {
	r, err := s.run(ctx, membersScript, s.keys.forMembers())
	if err != nil {
		return registry.View{}, err
	}
	now, generation, err := r.clock()
	v := registry.View{Generation: generation}
	if err == nil {
		v.Members, err = r.members(3, now)
	}
	if err != nil {
		return registry.View{}, unavailable(membersScript.name, err)
	}
	for _, m := range v.Members {
		if v.NextExpiry == 0 || m.TTLLeft < v.NextExpiry {
			v.NextExpiry = m.TTLLeft
		}
	}
	return v, nil
}

func (r reply) clock() (now int64, generation registry.Generation, err error) {
	if now, err = r.integer(1); err != nil {
		return 0, 0, err
	}
	g, err := r.integer(2)
	return now, registry.Generation(g), err
}

// members joins the records and the lives, which are lists at i and i+1. A record without a life is dead.
func (r reply) members(i int, now int64) ([]registry.Member, error) {
	records, err := r.table(i)
	if err != nil {
		return nil, err
	}
	lives, err := r.table(i + 1)
	if err != nil {
		return nil, err
	}
	members := make([]registry.Member, 0, len(lives))
	for id, expires := range lives {
		text, ok := records[id]
		if !ok {
			continue
		}
		m, err := parseMember(instance.ID(id), text)
		if err != nil {
			continue // edited by hand; its next heartbeat mends it
		}
		if m.TTLLeft, err = left(expires, now); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	registry.Sort(members)
	return members, nil
}

// left is the time from now until a score of the sorted set of lives.
func left(score string, now int64) (time.Duration, error) {
	f, err := strconv.ParseFloat(score, 64)
	if err != nil {
		return 0, malformed(score)
	}
	return micros(int64(f) - now), nil
}

// parseMember reads "<joined µs> <TTL µs> <marks> <description>"; see lua/membership.lua.
func parseMember(id instance.ID, text string) (m registry.Member, err error) {
	joined, rest, _ := strings.Cut(text, " ")
	_, rest, _ = strings.Cut(rest, " ")
	marks, description, _ := strings.Cut(rest, " ")
	at, err := strconv.ParseInt(joined, 10, 64)
	if err != nil {
		return m, malformed(text)
	}
	if err := json.Unmarshal([]byte(description), &m.Instance); err != nil || m.ID != id {
		return registry.Member{}, malformed(text)
	}
	m.JoinedAt = moment(at)
	m.Draining = strings.Contains(marks, "d")
	m.Leaving = strings.Contains(marks, "l")
	return m, nil
}

// BeginDrain implements registry.Registry.
func (s *Store) BeginDrain(ctx context.Context, id instance.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	_, err := s.run(ctx, drainScript, s.keys.forMembers(), string(id), s.keys.channel)
	return err
}

// Leave implements registry.Registry.
func (s *Store) Leave(ctx context.Context, id instance.ID) error {
	if err := id.Check(); err != nil {
		return err
	}
	_, err := s.run(ctx, leaveScript, s.keys.forMembers(), string(id), s.keys.channel)
	return err
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
