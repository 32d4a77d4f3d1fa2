package main

import (
	"context"
	"fmt"
	"time"
)

// Versions of pods: a rollout replaces the first by the second.
const (
	firstVersion  = "v1"
	secondVersion = "v2"
)

// rollout replaces every pod by one of the next version, one by one: a new one starts and takes part,
// then an old one drains (a surge of one).
func (r *run) rollout(ctx context.Context) error {
	if err := r.even(ctx); err != nil {
		return err
	}
	before := r.witness.Moves()
	for _, old := range r.fleet.Active() {
		if err := r.replace(ctx, old, secondVersion); err != nil {
			return err
		}
	}
	if err := r.even(ctx); err != nil {
		return err
	}
	r.moves = new(float64(r.witness.Moves()-before) / float64(len(r.options.catalogue)))
	return nil
}

// replace puts a pod of the version in the place of an old one.
func (r *run) replace(ctx context.Context, old, version string) error {
	name, err := r.fleet.Add(version)
	if err != nil {
		return err
	}
	if err := r.until(ctx, func() bool { return r.witness.Takes(name) }); err != nil {
		return fmt.Errorf("%s did not join: %w", name, err)
	}
	select {
	case <-r.fleet.Drain(old):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// even waits until every workload has an owner and the load of all active pods is balanced within one.
func (r *run) even(ctx context.Context) error { return r.until(ctx, r.balanced) }

func (r *run) balanced() bool {
	load, even := r.witness.Balance()
	return even && len(load) == len(r.fleet.Active())
}

// until looks a hundred times a second whether something has come true.
func (r *run) until(ctx context.Context, is func() bool) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
