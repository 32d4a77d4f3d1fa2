package tenure

import (
	"context"
	"log/slog"
	"runtime/debug"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/runner"
)

// Singleton runs work on at most one process of all that call it with this key on this store: leader
// election in one line. It blocks until ctx ends and the work has returned, or until the work returns nil
// by itself, which makes it finished here. An error or a panic of the work ends its term, and it is
// started again, here or elsewhere, after a backoff.
//
// The work's context does not end with ctx: term.Draining is closed then, and the work may finish
// what is in flight for 30 s. See [runner.Work] for all that ends it, and package runner for every knob.
// What happens is logged with slog's default logger.
//
// Errors match ErrInvalid (at once: the key or an argument cannot be used) or ErrStuck (the work
// had not returned 40 s after ctx ended).
func Singleton(ctx context.Context, store LeaseManager, key string, work func(ctx context.Context, term *Term) error) error {
	r, err := runner.New(store, instance.Process(), runner.Spec{Key: key, Work: work}, runner.Config{Logger: slog.Default()})
	if err != nil {
		return err
	}
	return r.Run(ctx)
}

// Shard spreads the workloads evenly over all processes that call it with the same list on this
// store, and runs this process's share; each workload on at most one of them. When a process joins,
// leaves or dies, as few workloads as possible move. It blocks until ctx ends and all work here has
// returned. Work that returns nil is finished on this process; an error or a panic ends the term of that
// one workload, which is started again after a backoff.
//
// The version of a process is the revision that its program was built from, where the go command has
// recorded one: so a rolling update moves each workload once. While programs of several revisions run
// side by side, nothing that runs is moved for balance alone.
//
// A process may shard several lists that have no key in common, but call Shard once for each. See
// [runner.Work] for what ends the work's context, and package coordinator for every knob and for
// lists that change. What happens is logged with slog's default logger.
//
// Errors match ErrInvalid (at once: a key is empty, reserved or there twice) or ErrStuck.
func Shard(ctx context.Context, store Store, workloads []string, work func(ctx context.Context, term *Term, key string) error) error {
	if work == nil {
		return fault.Invalid("work", "nil", "pass the function that does the work")
	}
	catalogue := make([]Workload[string], len(workloads))
	for i, key := range workloads {
		catalogue[i] = Workload[string]{Key: key, Value: key}
	}
	build, _ := debug.ReadBuildInfo() // nil where it is not known
	c, err := coordinator.New(store, catalogue, work, coordinator.Config{
		Instance: instance.Instance{Version: revision(build)}, Logger: slog.Default(),
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

// revision is what tells one build of a program from the next: the commit and whether it was changed, or
// the main module's version; empty where neither is known.
func revision(build *debug.BuildInfo) string {
	if build == nil {
		return ""
	}
	settings := map[string]string{}
	for _, s := range build.Settings {
		settings[s.Key] = s.Value
	}
	switch commit := settings["vcs.revision"]; {
	case commit != "" && settings["vcs.modified"] == "true":
		return commit + "+modified"
	case commit != "":
		return commit
	case build.Main.Version == "(devel)":
		return ""
	}
	return build.Main.Version
}
