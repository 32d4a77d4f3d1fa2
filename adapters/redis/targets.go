package redisstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// setField is before an instance's ID in the hash of targets, and keySeparator between the keys of its
// set: no key has a NUL.
const (
	setField     = "i:"
	keySeparator = "\x00"
)

// PutTargets implements assigner.Targets.
func (s *Store) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	if err := assigner.CheckTargets(head, sets, gone); err != nil {
		return err
	}
	args := make([]string, 0, 8+2*len(sets)+len(gone))
	args = append(args, decimal(head.Token), s.keys.channel, decimal(head.Epoch), decimal(head.Incarnation),
		decimal(uint64(head.Digest)), string(head.Planner), string(head.History), strconv.Itoa(len(sets)))
	under := decimal(head.Token) + " " + decimal(head.Epoch) + " " + decimal(head.Incarnation) + " "
	for _, set := range sets {
		args = append(args, setField+string(set.Instance), under+strings.Join(set.Keys, keySeparator))
	}
	for _, id := range gone {
		args = append(args, setField+string(id))
	}
	r, err := s.run(ctx, putTargetsScript, s.keys.forTargets(), args...)
	if err == nil && r[0] == "superseded" {
		return fmt.Errorf("redisstore: %s: %w", putTargetsScript.name, assigner.ErrSuperseded)
	}
	return err
}

// TargetsOf implements assigner.Targets.
func (s *Store) TargetsOf(ctx context.Context, id instance.ID) (head assigner.Head, set assigner.Set, err error) {
	if err := id.Check(); err != nil {
		return head, set, err
	}
	r, err := s.run(ctx, targetsOfScript, s.keys.forTargets(), setField+string(id))
	if err != nil {
		return head, set, err
	}
	headText, errHead := r.text(1)
	setText, errSet := r.text(2)
	if err := cmp.Or(errHead, errSet); err != nil {
		return head, set, unavailable(targetsOfScript.name, err)
	}
	return parseHead(headText), parseSet(string(id), setText), nil
}

// scans is how often AllTargets begins anew where a write came between its pages. After that it reads
// everything in one step, which holds the server up for as long as that takes.
const scans = 4

// AllTargets implements assigner.Targets. It reads 500 sets at a time.
func (s *Store) AllTargets(ctx context.Context) (head assigner.Head, sets []assigner.Set, err error) {
	for scan := 1; ; scan++ {
		text, fields, whole, err := s.scanTargets(ctx, scan > scans)
		if err != nil {
			return head, nil, err
		}
		if !whole {
			continue
		}
		head = parseHead(text)
		if history := fields["history"]; history != "" {
			head.History = []byte(history)
		}
		for field, value := range fields {
			if id, ok := strings.CutPrefix(field, setField); ok {
				if set := parseSet(id, value); set.Found {
					sets = append(sets, set)
				}
			}
		}
		slices.SortFunc(sets, func(a, b assigner.Set) int { return cmp.Compare(a.Instance, b.Instance) })
		return head, sets, nil
	}
}

// scanTargets reads the hash, and reports whether no write came between its pages.
func (s *Store) scanTargets(ctx context.Context, atOnce bool) (head string, fields map[string]string, whole bool, err error) {
	fields = map[string]string{}
	cursor := "0"
	if atOnce {
		cursor = "all"
	}
	for first := true; first || cursor != "0"; first = false {
		r, err := s.run(ctx, allTargetsScript, s.keys.forTargets(), cursor)
		if err != nil {
			return "", nil, false, err
		}
		now, errHead := r.text(1)
		next, errNext := r.text(2)
		page, errPage := r.table(3)
		if err := cmp.Or(errHead, errNext, errPage); err != nil {
			return "", nil, false, unavailable(allTargetsScript.name, err)
		}
		if !first && now != head {
			return "", nil, false, nil
		}
		head, cursor = now, next
		maps.Copy(fields, page)
	}
	return head, fields, true, nil
}

// parseHead reads the head; see lua/targets.lua. One that cannot be read is that of a fleet without a
// plan, as it is to the script that writes.
func parseHead(text string) (h assigner.Head) {
	part := strings.SplitN(text, " ", 7)
	if len(part) < 7 {
		return h
	}
	n, ok := numbers(part[:6])
	if !ok {
		return h
	}
	return assigner.Head{Token: n[0], Epoch: n[1], Incarnation: n[2], Digest: assigner.Digest(n[3]),
		WrittenAt: moment(int64(n[4])), Planner: instance.ID(part[6])}
}

// parseSet reads a set. One that is absent, or cannot be read, is unknown.
func parseSet(id, text string) assigner.Set {
	set := assigner.Set{Instance: instance.ID(id)}
	part := strings.SplitN(text, " ", 4)
	if len(part) < 4 {
		return set
	}
	n, ok := numbers(part[:3])
	if !ok {
		return set
	}
	set.Token, set.Epoch, set.Incarnation, set.Found = n[0], n[1], n[2], true
	if part[3] != "" {
		set.Keys = strings.Split(part[3], keySeparator)
	}
	return set
}

func numbers(texts []string) (n []uint64, ok bool) {
	for _, t := range texts {
		v, err := strconv.ParseUint(t, 10, 64)
		if err != nil {
			return nil, false
		}
		n = append(n, v)
	}
	return n, true
}
