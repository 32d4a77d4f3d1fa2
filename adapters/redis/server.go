package redisstore

import (
	"context"
	"log/slog"
	"strings"

	"github.com/tenure-go/tenure/lease"
)

// admit refuses a server whose settings would break the promise, once per incarnation: a fail-over may
// lead to a server with other settings. Most calls find that it was done.
func (s *Store) admit(ctx context.Context) error {
	incarnation := s.newest.Load()
	if s.checked.Load() == incarnation+1 {
		return nil
	}
	info, err := s.info(ctx)
	if err != nil {
		return err
	}
	for _, f := range s.judge(info) {
		s.log.LogAttrs(ctx, slog.LevelWarn, "tenure: "+f.Meaning, slog.String("fleet", s.cfg.Fleet),
			slog.String("setting", f.Setting), slog.String("value", f.Value), slog.String("remedy", f.Remedy))
		if f.Fatal {
			return &lease.InvalidError{Field: "redisstore: server setting " + f.Setting, Value: f.Value, Remedy: f.Meaning + "; " + f.Remedy}
		}
	}
	s.checked.Store(incarnation + 1)
	return nil
}

// see notes the newest incarnation. The first one that is answered is that of the server that was
// just looked at.
func (s *Store) see(number uint64) {
	for {
		known := s.newest.Load()
		if number <= known {
			return
		}
		if s.newest.CompareAndSwap(known, number) {
			if known == 0 {
				s.checked.CompareAndSwap(1, number+1)
			}
			return
		}
	}
}

// info is what INFO says, by field. It is empty where the user may not read INFO.
type info map[string]string

func (s *Store) info(ctx context.Context) (info, error) {
	r, err := s.run(ctx, infoScript, s.keys.forLeases()[:1])
	if err != nil {
		return nil, err
	}
	all := info{}
	for i := 1; i < len(r); i++ {
		text, err := r.text(i)
		if err != nil {
			return nil, unavailable(infoScript.name, err)
		}
		for line := range strings.Lines(text) {
			if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				all[k] = v
			}
		}
	}
	return all, nil
}
