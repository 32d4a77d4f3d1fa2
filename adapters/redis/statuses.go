package redisstore

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// statusBody is the part of a record that the scripts do not look into.
type statusBody struct {
	Name string `json:"name,omitempty"`
	Info string `json:"info,omitempty"`
}

// PutStatus implements status.Store. An empty batch is one small write.
func (s *Store) PutStatus(ctx context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	all, err := putArgs(owner, ttl, records)
	for _, args := range all {
		if _, err = s.run(ctx, putStatusScript, s.keys.forStatuses(), args...); err != nil {
			return err
		}
	}
	return err
}

// putArgs checks a batch and writes it down, as much at a time as one script may do.
func putArgs(owner instance.ID, ttl time.Duration, records []status.Record) (all [][]string, err error) {
	if err := status.Check(owner, ttl, records); err != nil {
		return nil, err
	}
	for part := range parts(records) {
		args := []string{string(owner), ceil(ttl)}
		for _, r := range part {
			body, err := json.Marshal(statusBody{r.Name, r.Info})
			if err != nil {
				return nil, invalid("status of "+r.Key, r, err.Error())
			}
			args = append(args, r.Key, decimal(r.Token), string(r.State), string(body))
		}
		all = append(all, args)
	}
	return all, nil
}

// Statuses implements status.Store.
func (s *Store) Statuses(ctx context.Context, keys []string) ([]status.Record, error) {
	for _, key := range keys {
		if err := lease.CheckKey(key); err != nil {
			return nil, err
		}
	}
	var live []status.Record
	for part := range parts(slices.Compact(slices.Sorted(slices.Values(keys)))) {
		r, err := s.run(ctx, getStatusesScript, s.keys.forStatuses(), part...)
		if err != nil {
			return nil, err
		}
		for i, key := range part {
			text, err := r.text(1 + 2*i)
			if err != nil {
				return nil, unavailable(getStatusesScript.name, err)
			}
			if text == "" {
				continue
			}
			n, err := r.integer(2 + 2*i)
			if err != nil {
				return nil, unavailable(getStatusesScript.name, err)
			}
			if rec, ok := parseStatus(key, text); ok {
				rec.TTLLeft = micros(n)
				live = append(live, rec)
			}
		}
	}
	return live, nil
}

// AllStatuses implements status.Store. It reads 500 records at a time, so that a large fleet does not
// hold the server up.
func (s *Store) AllStatuses(ctx context.Context) ([]status.Record, error) {
	live := map[string]status.Record{}
	for cursor := "0"; ; {
		r, err := s.run(ctx, allStatusesScript, s.keys.forStatuses(), cursor)
		if err != nil {
			return nil, err
		}
		if cursor, err = r.statuses(live); err != nil {
			return nil, unavailable(allStatusesScript.name, err)
		}
		if cursor == "0" {
			return slices.SortedFunc(maps.Values(live), func(a, b status.Record) int { return strings.Compare(a.Key, b.Key) }), nil
		}
	}
}

// statuses reads one page: a cursor, then three elements for each record.
func (r reply) statuses(live map[string]status.Record) (cursor string, err error) {
	cursor, err = r.text(1)
	for i := 2; i < len(r) && err == nil; i += 3 {
		var key, text string
		var left int64
		if key, err = r.text(i); err != nil {
			break
		}
		if text, err = r.text(i + 1); err != nil {
			break
		}
		if left, err = r.integer(i + 2); err != nil {
			break
		}
		if rec, ok := parseStatus(key, text); ok {
			rec.TTLLeft = micros(left)
			live[key] = rec
		}
	}
	return cursor, err
}

// parseStatus reads "<token> <since µs> <owner's life µs> <state> <length of the owner's id>
// <owner><body>"; see lua/statuses.lua. Whether it lives is the script's to say.
func parseStatus(key, text string) (r status.Record, ok bool) {
	head := strings.SplitN(text, " ", 6)
	if len(head) < 6 {
		return r, false
	}
	token, errToken := strconv.ParseUint(head[0], 10, 64)
	since, errSince := strconv.ParseInt(head[1], 10, 64)
	length, errLength := strconv.ParseUint(head[4], 10, 16)
	rest := head[5]
	if errToken != nil || errSince != nil || errLength != nil || length > uint64(len(rest)) {
		return r, false
	}
	var body statusBody
	if json.Unmarshal([]byte(rest[length:]), &body) != nil {
		return r, false
	}
	return status.Record{
		Key: key, Name: body.Name, State: status.State(head[3]), Owner: instance.ID(rest[:length]),
		Token: token, Info: body.Info, Since: moment(since),
	}, true
}
