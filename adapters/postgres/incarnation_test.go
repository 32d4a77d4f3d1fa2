package postgresstore

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// losing is a fleet on a server that will lose its latest writes: a holder with an old and a new
// lease, a silent owner of a new one, and a rival.
type losing struct {
	s                     *Store
	holder, silent, rival lease.Session
	old, fresh, orphan    lease.Lease
	before                lease.Incarnation
}

const losingTTL = 3 * time.Second

func newLosing(t *testing.T, dsn string) *losing {
	f := &losing{s: open(t, dsn, freshFleet(), Config{MaxTTL: losingTTL})}
	must(t, f.s.Migrate(ctx(t)))
	must(t, f.s.Provision(ctx(t)))
	f.holder, f.silent, f.rival = begun(t, f.s, losingTTL), begun(t, f.s, losingTTL), begun(t, f.s, losingTTL)
	f.old = granted(t, f.s, f.holder, "old")[0]
	return f
}

// alive renews the sessions whose processes live on, as their keepers would.
func (f *losing) alive(t *testing.T) (r lease.Renewal) {
	for _, s := range []lease.Session{f.holder, f.rival} {
		persistent(t, 20*time.Second, func() (err error) { r, err = f.s.Renew(ctx(t), s); return err })
	}
	return r
}

// late grants what the server will forget.
func (f *losing) late(t *testing.T) {
	f.before = f.alive(t).Incarnation
	f.fresh = granted(t, f.s, f.holder, "fresh")[0]
	_, err := f.s.OpenSession(ctx(t), f.silent)
	if errors.Is(err, lease.ErrSessionLapsed) {
		f.silent = begun(t, f.s, losingTTL)
	}
	f.orphan = granted(t, f.s, f.silent, "orphan")[0]
}

// recovers checks what must hold once the server is back without its latest writes.
func (f *losing) recovers(t *testing.T) {
	t.Helper()
	lost := time.Now()
	r := f.alive(t)
	if r.Incarnation.Number <= f.before.Number || r.Incarnation.FrozenFor <= 0 {
		t.Fatalf("the server lost writes, and the incarnation went from %+v to %+v", f.before, r.Incarnation)
	}
	g, err := f.s.Acquire(ctx(t), f.rival, []string{"old", "fresh", "orphan", "new"})
	must(t, err)
	if len(g.Leases) != 0 {
		t.Fatalf("granted while frozen: %+v", g.Leases)
	}
	v, err := f.s.Verify(ctx(t), f.holder, []lease.Lease{f.old, f.fresh})
	must(t, err)
	if len(v.Lost) != 0 {
		t.Fatalf("a living holder lost %+v", v.Lost)
	}
	for {
		r := f.alive(t)
		if r.Incarnation.FrozenFor == 0 {
			break
		}
		time.Sleep(min(r.Incarnation.FrozenFor+time.Millisecond, losingTTL/4))
	}
	if time.Since(lost) < losingTTL-200*time.Millisecond {
		t.Errorf("the freeze was over after %v", time.Since(lost))
	}
	g, err = f.s.Acquire(ctx(t), f.rival, []string{"old", "fresh", "orphan", "new"})
	must(t, err)
	got := map[string]uint64{}
	for _, l := range g.Leases {
		got[l.Key] = l.Token
	}
	if len(got) != 2 || got["orphan"] <= f.orphan.Token || got["new"] == 0 {
		t.Fatalf("after the freeze the rival got %v, want new, and orphan above %d; refused %+v", got, f.orphan.Token, g.Refused)
	}
	again, err := f.s.Acquire(ctx(t), f.holder, []string{"old", "fresh"})
	must(t, err)
	if len(again.Leases) != 2 || again.Leases[0].Token != f.fresh.Token || again.Leases[1].Token != f.old.Token {
		t.Fatalf("the holder has %+v now, want the same tokens", again)
	}
}

// An asynchronous standby that missed the last grants is promoted. Its checkpoint is still running,
// so that the control file does not know the new timeline yet.
// Failure 55.
func TestPromotionOfLaggingStandby(t *testing.T) {
	primary := newServer(t, serverConfig{settings: []string{"wal_level=replica", "max_wal_senders=4", "checkpoint_timeout=1h"}})
	copied := filepath.Join(primary.dir, "copy")
	cmd, err := primary.command("pg_basebackup", "-h", "127.0.0.1", "-p", strings.TrimPrefix(primary.addr(), "127.0.0.1:"), "-U", "postgres", "-D", copied, "-R", "-X", "stream", "-c", "fast")
	missing(t, err)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("pg_basebackup: %v\n%s", err, out)
	}
	standby := newServer(t, serverConfig{from: copied, settings: []string{"hot_standby=on", "checkpoint_timeout=1h", "checkpoint_completion_target=0.9"}})
	vip := newProxy(t, primary.addr())
	dsn := strings.Replace(primary.dsn(), primary.addr(), vip.addr(), 1)

	f := newLosing(t, dsn)
	primary.exec(t, "CREATE TABLE public.junk AS SELECT g, repeat('x', 800) AS x FROM generate_series(1, 20000) g") // dirty pages for the standby's checkpoint
	var at string
	must(t, primary.dial(t).QueryRow(ctx(t), "SELECT pg_current_wal_flush_lsn()::text").Scan(&at))
	until(t, 30*time.Second, "the standby has caught up", func() bool {
		return standby.number(t, "SELECT count(*) WHERE pg_last_wal_replay_lsn() >= $1::text::pg_lsn", at) == 1
	})
	// A store that is led to the standby says that it cannot write.
	onStandby := open(t, standby.dsn(), f.s.fleet, Config{MaxTTL: losingTTL})
	if _, err := onStandby.Renew(ctx(t), f.holder); !errors.Is(err, lease.ErrReadOnlyStore) || errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("Renew on a standby: %v, want ErrReadOnlyStore", err)
	}
	if err := onStandby.Check(ctx(t)); !errors.Is(err, lease.ErrReadOnlyStore) {
		t.Errorf("Check on a standby: %v, want ErrReadOnlyStore", err)
	}
	standby.exec(t, "ALTER SYSTEM SET primary_conninfo = ''")
	standby.exec(t, "SELECT pg_reload_conf()")
	until(t, 20*time.Second, "the standby is cut off", func() bool {
		return primary.number(t, "SELECT count(*) FROM pg_stat_replication") == 0
	})
	f.late(t)
	primary.stop(syscall.SIGKILL)
	standby.exec(t, "SELECT pg_promote(true)")
	var wal, control int64
	must(t, standby.dial(t).QueryRow(ctx(t), `SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint,
		timeline_id FROM pg_control_checkpoint()`).Scan(&wal, &control))
	t.Logf("after the promotion the WAL is on timeline %d, the control file says %d", wal, control)
	vip.point(standby.addr())
	f.recovers(t)
	var life string
	must(t, standby.dial(t).QueryRow(ctx(t), "SELECT life FROM tenure.fleet WHERE fleet = $1", f.s.fleet).Scan(&life))
	if !strings.HasPrefix(life, "00000002:") {
		t.Errorf("after the promotion the fingerprint is %q, want timeline 2", life)
	}
}

// A server comes up from a copy of its files that was taken earlier.
func TestRestartFromAnEarlierCopy(t *testing.T) {
	srv := newServer(t, serverConfig{})
	f := newLosing(t, srv.dsn())
	srv.stop(syscall.SIGINT)
	earlier := filepath.Join(srv.dir, "earlier")
	if out, err := exec.Command("cp", "-a", srv.data(), earlier).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v\n%s", err, out)
	}
	must(t, srv.start())
	persistent(t, 20*time.Second, func() error { _, err := f.s.Renew(ctx(t), f.holder); return err })
	_, err := f.s.Verify(ctx(t), f.holder, []lease.Lease{f.old})
	must(t, err)
	for f.alive(t).Incarnation.FrozenFor > 0 {
		time.Sleep(losingTTL / 4)
	}
	f.late(t)
	srv.stop(syscall.SIGKILL)
	if out, err := exec.Command("sh", "-c", "rm -rf '"+srv.data()+"' && mv '"+earlier+"' '"+srv.data()+"'").CombinedOutput(); err != nil {
		t.Fatalf("mv: %v\n%s", err, out)
	}
	must(t, srv.start())
	f.recovers(t)
}

// A calm server stays in its incarnation, whoever looks and however it is reached.
func TestFingerprintIsStable(t *testing.T) {
	srv := needServer(t)
	s := migrated(t, srv, Config{})
	a := begun(t, s, 10*time.Second)
	r, err := s.Renew(ctx(t), a)
	must(t, err)
	srv.exec(t, "CHECKPOINT")
	srv.exec(t, "SELECT pg_switch_wal()")
	other := open(t, srv.with("timezone=Asia/Kathmandu", "extra_float_digits=-10"), s.fleet, Config{})
	again, err := other.Renew(ctx(t), a)
	must(t, err)
	if again.Incarnation != r.Incarnation {
		t.Fatalf("%+v, then %+v", r, again)
	}
}
