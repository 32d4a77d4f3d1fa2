package postgresstore

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// plan is n sets of m keys each.
func plan(n, m int) []assigner.Set {
	sets := make([]assigner.Set, n)
	for i := range sets {
		sets[i] = assigner.Set{Instance: instance.ID(fmt.Sprintf("instance-%05d", i))}
		for k := range m {
			sets[i].Keys = append(sets[i].Keys, fmt.Sprintf("workload-%06d", i*m+k))
		}
	}
	return sets
}

// A planner whose write waits for its predecessor's deletes also what that one has just written.
func TestDeletionSeesWhatItWaitedFor(t *testing.T) {
	srv := newServer(t, serverConfig{})
	s := migrated(t, srv, Config{})
	old, err := srv.dial(t).Begin(ctx(t))
	must(t, err)
	_, err = old.Exec(ctx(t), "INSERT INTO tenure.plan (fleet, token, epoch, incarnation, planner, digest, history, written_at) VALUES ($1, 7, 1, 1, 'old', 0, '', now())", s.fleet)
	must(t, err)
	_, err = old.Exec(ctx(t), "INSERT INTO tenure.target (fleet, token, epoch, incarnation, id, keys) VALUES ($1, 7, 1, 1, 'stale', '[]'), ($1, 7, 1, 1, 'both', '[]')", s.fleet)
	must(t, err)
	done := make(chan error, 1)
	next := assigner.Head{Token: 8, Epoch: 1, Planner: "next"}
	go func() {
		done <- s.PutTargets(ctx(t), next, []assigner.Set{{Instance: "both", Keys: []string{"k"}}}, []instance.ID{"stale"})
	}()
	until(t, 20*time.Second, "the second write waits for the first", func() bool {
		return srv.number(t, "SELECT count(*) FROM pg_locks WHERE NOT granted") > 0
	})
	must(t, old.Commit(ctx(t)))
	must(t, <-done)
	head, sets, err := s.AllTargets(ctx(t))
	must(t, err)
	if head.Token != 8 || len(sets) != 1 || sets[0].Instance != "both" || sets[0].Token != 8 || len(sets[0].Keys) != 1 {
		t.Errorf("the head is %+v, and the sets are %+v", head, sets)
	}
}

// A plan that changes some sets writes those and its head, and no index; the history is written when it changes.
func TestTargetWritesAreSmall(t *testing.T) {
	srv := newServer(t, serverConfig{settings: []string{"autovacuum=off", "bgwriter_lru_maxpages=0", "checkpoint_timeout=1h"}})
	s := migrated(t, srv, Config{})
	head := assigner.Head{Token: 7, Epoch: 1, Planner: "p", History: make([]byte, 200_000)}
	_, _ = rand.Read(head.History) // it does not compress
	must(t, s.PutTargets(ctx(t), head, plan(100, 20), nil))
	const rounds = 200
	head.History = nil
	cost := srv.walOf(t, rounds, func() {
		head.Epoch++
		must(t, s.PutTargets(ctx(t), head, plan(2, 20), nil))
	})
	t.Logf("WAL of a plan that changes two sets of 20 keys: %d B, with a history of 200 000 B that stays", cost)
	if cost > 20_000 {
		t.Errorf("a plan that changes two sets writes %d B of WAL: the history, or all sets, are written again", cost)
	}
	until(t, 30*time.Second, "the statistics are in", func() bool {
		must(t, s.PutTargets(ctx(t), head, nil, nil))
		return srv.number(t, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'tenure' AND relname = 'target'") >= 2*rounds
	})
	for _, table := range []string{"plan", "target"} {
		all := srv.number(t, "SELECT n_tup_upd FROM pg_stat_user_tables WHERE schemaname = 'tenure' AND relname = $1", table)
		hot := srv.number(t, "SELECT n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'tenure' AND relname = $1", table)
		t.Logf("%s: %d updates, %d HOT", table, all, hot)
		if hot*100 < all*90 {
			t.Errorf("%d of %d updates of %s were HOT, want at least 90 %%", hot, all, table)
		}
	}
	got, sets, err := s.AllTargets(ctx(t))
	must(t, err)
	if len(got.History) != 200_000 || len(sets) != 100 {
		t.Errorf("a history of %d bytes and %d sets came back", len(got.History), len(sets))
	}
}

// Beside the schema of the first version leases work and plans say what is missing; beside the schema of
// this one programs of the first version go on.
func TestUpgradeFromTheFirstVersion(t *testing.T) {
	srv := newServer(t, serverConfig{})
	first, err := steps()[0].sql("old")
	must(t, err)
	_, err = srv.dial(t).PgConn().Exec(ctx(t), fill("old", "CREATE SCHEMA {s};\n"+sqlVersionTable)+first).ReadAll()
	must(t, err)
	s := open(t, srv.dsn(), freshFleet(), Config{Schema: "old"})
	must(t, s.Provision(ctx(t)))
	sess := begun(t, s, 10*time.Second)
	l := granted(t, s, sess, "k")[0]
	head := assigner.Head{Token: 7, Epoch: 1, Planner: "p"}
	wantSetup(t, s.PutTargets(ctx(t), head, nil, nil), "Migrate")
	wantSetup(t, s.Check(ctx(t)), "run Migrate")

	must(t, s.Migrate(ctx(t)))
	must(t, s.Check(ctx(t)))
	must(t, s.PutTargets(ctx(t), head, plan(2, 2), nil))
	if again := granted(t, s, sess, "k")[0]; again.Token != l.Token {
		t.Errorf("the migration moved a token from %d to %d", l.Token, again.Token)
	}
	if n := srv.number(t, "SELECT compatible FROM old.schema_version"); n != 1 {
		t.Errorf("the schema needs version %d, and shuts the first version's programs out", n)
	}
}

// BenchmarkTargets writes and reads the plan of 1 000 instances with 100 workloads each.
func BenchmarkTargets(b *testing.B) {
	s := migrated(b, newServer(b, serverConfig{sync: true}), Config{})
	c := ctx(b)
	head := assigner.Head{Token: 7, Epoch: 1, Planner: "p"}
	sets := plan(1000, 100)
	b.Run("batch of 500", func(b *testing.B) {
		for b.Loop() {
			head.Epoch++
			must(b, s.PutTargets(c, head, sets[:500], nil))
		}
	})
	for part, gone := range assigner.Batches(sets, nil) {
		must(b, s.PutTargets(c, head, part, gone))
	}
	b.Run("one set", func(b *testing.B) {
		for b.Loop() {
			_, _, err := s.TargetsOf(c, "instance-00500")
			must(b, err)
		}
	})
	b.Run("all", func(b *testing.B) {
		for b.Loop() {
			_, _, err := s.AllTargets(c)
			must(b, err)
		}
	})
}
