package postgresstore

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

const (
	// The head first: its row is the lock of everything below, and a newer one refuses the write. What
	// the condition leaves alone (digest and history, where a claim brings none) is not written again. No
	// column of an index changes, so it is a HOT update.
	sqlPlanHead = `INSERT INTO {s}.plan AS p (fleet, token, epoch, incarnation, planner, digest, history, written_at)
		VALUES ($1, $2::bigint, $3::bigint, $4::bigint, $5, $6::bigint, decode($7, 'base64'), clock_timestamp())
		ON CONFLICT (fleet) DO UPDATE SET token = excluded.token, epoch = excluded.epoch, incarnation = excluded.incarnation,
			planner = excluded.planner, written_at = excluded.written_at,
			digest = CASE WHEN excluded.digest = 0 THEN p.digest ELSE excluded.digest END,
			history = CASE WHEN excluded.history = ''::bytea THEN p.history ELSE excluded.history END
		WHERE (p.token, p.epoch) <= (excluded.token, excluded.epoch)
		RETURNING 1`
	// accepted says that the stored head is the caller's, which it is exactly where the statement
	// before, in the same transaction, was not refused. Statements of their own see what a predecessor
	// committed while this transaction waited for the head; parts of that one would not.
	accepted      = `EXISTS (SELECT FROM {s}.plan p WHERE p.fleet = $1 AND p.token = $2::bigint AND p.epoch = $3::bigint)`
	sqlTargetGone = `DELETE FROM {s}.target t WHERE t.fleet = $1 AND t.id = ANY($4::text[]) AND ` + accepted
	sqlTargetPut  = `INSERT INTO {s}.target AS t (fleet, token, epoch, incarnation, id, keys)
		SELECT $1, $2::bigint, $3::bigint, $4::bigint, w.id, w.keys FROM unnest($5::text[], $6::text[]) w(id, keys)
		WHERE ` + accepted + ` ORDER BY w.id COLLATE "C"
		ON CONFLICT (fleet, id) DO UPDATE SET token = excluded.token, epoch = excluded.epoch, incarnation = excluded.incarnation, keys = excluded.keys`
	// Each of the two reads is one statement: head and sets are of one moment.
	sqlTargetOf = `SELECT p.token, p.epoch, p.incarnation, p.planner, p.digest, {us:p.written_at}, t.id, t.token, t.epoch, t.incarnation, t.keys
		FROM (SELECT) one LEFT JOIN {s}.plan p ON p.fleet = $1 LEFT JOIN {s}.target t ON t.fleet = $1 AND t.id = $2`
	sqlTargetsAll = `SELECT * FROM (
			SELECT token, epoch, incarnation, planner, digest, {us:written_at}, encode(history, 'base64'), NULL AS id, NULL AS keys
			FROM {s}.plan WHERE fleet = $1
			UNION ALL SELECT token, epoch, incarnation, NULL, NULL, NULL, NULL, id, keys
			FROM {s}.target WHERE fleet = $1) a
		ORDER BY a.id COLLATE "C" NULLS FIRST`
)

// PutTargets implements assigner.Targets: one message, one transaction.
func (s *Store) PutTargets(ctx context.Context, head assigner.Head, sets []assigner.Set, gone []instance.ID) error {
	const op = "put targets"
	if err := assigner.CheckTargets(head, sets, gone); err != nil {
		return err
	}
	if n := max(head.Token, head.Epoch, head.Incarnation); n > math.MaxInt64 {
		return invalid("head token, epoch or incarnation", fmt.Sprint(n), "must be below 2^63, as what a store answers is")
	}
	fleet, token, epoch, incarnation := text(s.fleet), number(head.Token), number(head.Epoch), number(head.Incarnation)
	stmts := []stmt{{sql: s.q.planHead, args: [][]byte{fleet, token, epoch, incarnation, text(string(head.Planner)),
		number(int64(head.Digest)), text(base64.StdEncoding.EncodeToString(head.History))}}}
	if len(gone) > 0 {
		stmts = append(stmts, stmt{sql: s.q.targetGone, args: [][]byte{fleet, token, epoch, textArray(texts(gone))}})
	}
	if len(sets) > 0 {
		ids, keys, err := columnsOf(sets)
		if err != nil {
			return err
		}
		stmts = append(stmts, stmt{sql: s.q.targetPut, args: [][]byte{fleet, token, epoch, incarnation, textArray(ids), textArray(keys)}})
	}
	rows, err := s.run(ctx, call{op: op, lane: s.bulk, stmts: stmts})
	if err != nil {
		return err
	}
	if len(rows[0]) == 0 {
		return fmt.Errorf("postgresstore: %s: %w", op, assigner.ErrSuperseded)
	}
	if len(sets)+len(gone) > 0 {
		s.tell(ctx, lease.Change{Kind: lease.ChangePlanned})
	}
	return nil
}

func texts(ids []instance.ID) []string {
	list := make([]string, len(ids))
	for i, id := range ids {
		list[i] = string(id)
	}
	return list
}

func columnsOf(sets []assigner.Set) (ids, keys []string, err error) {
	for _, set := range sets {
		list := []byte("[]")
		if len(set.Keys) > 0 {
			if list, err = json.Marshal(set.Keys); err != nil {
				return nil, nil, invalid("target keys of "+string(set.Instance), fmt.Sprint(len(set.Keys)), "must be valid JSON: "+err.Error())
			}
		}
		ids, keys = append(ids, string(set.Instance)), append(keys, string(list))
	}
	return ids, keys, nil
}

// TargetsOf implements assigner.Targets.
func (s *Store) TargetsOf(ctx context.Context, id instance.ID) (head assigner.Head, set assigner.Set, err error) {
	const op = "read targets"
	if err := id.Check(); err != nil {
		return head, set, err
	}
	rows, err := s.run(ctx, call{op: op, lane: s.bulk, stmts: []stmt{{sql: s.q.targetOf, args: [][]byte{text(s.fleet), text(string(id))}}}})
	if err != nil {
		return head, set, err
	}
	if len(rows[0]) == 0 {
		return head, set, unavailable(op, errNoState)
	}
	c := cells{row: rows[0][0]}
	head = c.head()
	found := c.next() != nil
	set = assigner.Set{Instance: id, Token: uint64(c.int()), Epoch: uint64(c.int()), Incarnation: uint64(c.int()), Keys: c.keys(), Found: found}
	if c.err != nil {
		return assigner.Head{}, assigner.Set{}, unavailable(op, c.err)
	}
	return head, set, nil
}

// AllTargets implements assigner.Targets.
func (s *Store) AllTargets(ctx context.Context) (head assigner.Head, sets []assigner.Set, err error) {
	const op = "read targets"
	rows, err := s.run(ctx, call{op: op, lane: s.bulk, stmts: []stmt{{sql: s.q.targetsAll, args: [][]byte{text(s.fleet)}}}})
	if err != nil {
		return head, nil, err
	}
	for _, row := range rows[0] {
		c := cells{row: row}
		under := c.head()
		history := c.text()
		id := c.next()
		keys := c.keys()
		if id != nil {
			sets = append(sets, assigner.Set{Instance: instance.ID(id), Keys: keys, Found: true,
				Token: under.Token, Epoch: under.Epoch, Incarnation: under.Incarnation})
		} else if head = under; history != "" {
			head.History, err = base64.StdEncoding.DecodeString(history)
		}
		if c.err == nil {
			c.err = err
		}
		if c.err != nil {
			return assigner.Head{}, nil, unavailable(op, c.err)
		}
	}
	return head, sets, nil
}

// head reads the columns of a head, all NULL where there is none.
func (c *cells) head() assigner.Head {
	h := assigner.Head{Token: uint64(c.int()), Epoch: uint64(c.int()), Incarnation: uint64(c.int()),
		Planner: instance.ID(c.text()), Digest: assigner.Digest(c.int())}
	if written, known := c.maybeInt(); known {
		h.WrittenAt = time.UnixMicro(written).UTC()
	}
	return h
}

// keys reads a JSON array.
func (c *cells) keys() (keys []string) {
	if v := c.next(); v != nil && c.err == nil {
		c.err = json.Unmarshal(v, &keys)
	}
	return keys
}
