package redisstore

import (
	"context"
	"encoding/json"
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
	if err := status.Check(owner, ttl, records); err != nil {
		return err
	}
	for part := range parts(records) {
		args := []string{string(owner), ceil(ttl)}
		for _, r := range part {
			body, err := json.Marshal(statusBody{r.Name, r.Info})
			if err != nil {
				return invalid("status of "+r.Key, r, err.Error())
			}
			args = append(args, r.Key, decimal(r.Token), string(r.State), string(body))
		}
		if _, err := s.run(ctx, putStatusScript, s.keys.forStatuses(), args...); err != nil {
			return err
		}
	}
	return nil
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
			if rec, _, ok := parseStatus(key, text); ok {
				rec.TTLLeft = micros(n)
				live = append(live, rec)
			}
		}
	}
	return live, nil
}

// AllStatuses implements status.Store. The server hands out all records at once, and the rest is worked
// out here.
func (s *Store) AllStatuses(ctx context.Context) ([]status.Record, error) {
	r, err := s.run(ctx, allStatusesScript, s.keys.forStatuses())
	if err != nil {
		return nil, err
	}
	live, err := r.statuses()
	if err != nil {
		return nil, unavailable(allStatusesScript.name, err)
	}
	return live, nil
}

func (r reply) statuses() ([]status.Record, error) {
	now, err := r.integer(1)
	if err != nil {
		return nil, err
	}
	records, err := r.table(2)
	if err != nil {
		return nil, err
	}
	owners, err := r.table(3)
	if err != nil {
		return nil, err
	}
	var live []status.Record
	for key, text := range records {
		rec, life, ok := parseStatus(key, text)
		if !ok {
			continue
		}
		expires, born, _ := strings.Cut(owners[string(rec.Owner)], " ")
		ends, err := strconv.ParseInt(expires, 10, 64)
		if err != nil || born != life || ends <= now {
			continue
		}
		rec.TTLLeft = micros(ends - now)
		live = append(live, rec)
	}
	slices.SortFunc(live, func(a, b status.Record) int { return strings.Compare(a.Key, b.Key) })
	return live, nil
}

// parseStatus reads "<token> <since µs> <owner's life µs> <state> <length of the owner's id>
// <owner><body>"; see lua/statuses.lua. It returns the life apart.
func parseStatus(key, text string) (r status.Record, life string, ok bool) {
	f := fields(&text, 3)
	state, text, found := strings.Cut(text, " ")
	length := fields(&text, 1)
	if f == nil || !found || length == nil || length[0] > int64(len(text)) {
		return r, "", false
	}
	var body statusBody
	if json.Unmarshal([]byte(text[length[0]:]), &body) != nil {
		return r, "", false
	}
	return status.Record{
		Key: key, Name: body.Name, State: status.State(state), Owner: instance.ID(text[:length[0]]),
		Token: uint64(f[0]), Info: body.Info, Since: moment(f[1]),
	}, strconv.FormatInt(f[2], 10), true
}
