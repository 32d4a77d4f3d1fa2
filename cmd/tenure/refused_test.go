package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// refusal is a store whose server answers, and has something against the URL.
type refusal struct {
	name, url string
	want      []string
}

// check tries every command that talks to a store: each ends at once with status 2 and one line.
func (r refusal) check(t *testing.T) {
	t.Helper()
	said := func(args []string, status int, out, said string) {
		t.Helper()
		if status != 2 || out != "" || strings.Count(said, "\n") != 1 || strings.Contains(said, "does not answer") || strings.Contains(said, "secret") {
			t.Errorf("%s: tenure %v: status %d, %q, %q", r.name, args, status, out, said)
		}
		for _, want := range append(r.want, "--store") {
			if !strings.Contains(said, want) {
				t.Errorf("%s: tenure %v: %q does not say %q", r.name, args, said, want)
			}
		}
	}
	for _, args := range [][]string{{"status"}, {"who", "k"}, {"provision"}, {"check"}, {"drain", "--instance", "i"}, {"revoke", "k", "--yes"}, {"verify"}} {
		args = append(args, "--store", r.url)
		status, out, err := command(args...)
		said(args, status, out, err)
	}
	for _, args := range [][]string{{"--", "echo", "ran"}, {"--no-wait", "--", "echo", "ran"}} {
		p := running(t, "", []string{"--store", r.url}, args...)
		said(append([]string{"run"}, args...), p.wait(), p.out.String(), p.err.String())
	}
}

func TestRedisRefuses(t *testing.T) {
	t.Parallel()
	open := privateRedis(t, "--databases", "4")
	address := strings.TrimSuffix(strings.TrimPrefix(open.url, "redis://"), "/0")
	c := open.client()
	defer c.Close()
	if err := c.Do(t.Context(), "ACL", "SETUSER", "ann", "on", ">secret", "~*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	for _, r := range []refusal{
		{"a database too many", "redis://ann:secret@" + address + "/9", []string{"no such database", "DB index is out of range", `"databases"`}},
		{"a wrong password", "redis://ann:secrets@" + address, []string{"refuses the login", "WRONGPASS", "user:password@host"}},
		{"an unknown user", "redis://bob:secret@" + address, []string{"refuses the login", "WRONGPASS"}},
		{"no cluster", "redis+cluster://" + address, []string{"no cluster", "redis://"}},
		{"a cluster's wrong password", "redis+cluster://ann:secrets@" + address, []string{"refuses the login"}},
		{"no Sentinel", "redis+sentinel://" + address + "/m", []string{"no Sentinels", "redis://"}},
		{"a Sentinel's wrong password", "redis+sentinel://" + address + "/m?sentinel_username=ann&sentinel_password=secrets", []string{"Sentinels refuse the login", "sentinel_password"}},
	} {
		r.check(t)
	}
	if err := c.Do(t.Context(), "ACL", "SETUSER", "eve", "on", ">secret", "~other:*", "&*", "+@all").Err(); err != nil {
		t.Fatal(err)
	}
	if status, _, said := command("status", "--store", "redis://eve:secret@"+address); status != 3 || !strings.Contains(said, "lacks a right") || !strings.Contains(said, "NOPERM") || !strings.Contains(said, "ACL SETUSER") {
		t.Errorf("a user without rights: %d %q", status, said)
	}
	if err := c.ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	refusal{"no password", "redis://" + address, []string{"refuses the login", "NOAUTH", "user:password@host"}}.check(t)
}

// A server that has answered before and then refuses the login is having its password changed: what waits goes on waiting.
func TestRunOutlastsAChangeOfPassword(t *testing.T) {
	t.Parallel()
	s := privateRedis(t)
	flags := append(fleetIn(t, s, "f"), "--ttl", "3s")
	holder := running(t, "", flags, "--", "sh", "-c", "echo on; exec sleep 1000")
	holder.printed("on")
	p := running(t, "", flags, "--", "echo", "ran")
	p.said("is held by")
	c := s.client()
	defer c.Close()
	if err := c.ConfigSet(t.Context(), "requirepass", "secret").Err(); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), "CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes").Err(); err != nil {
		t.Fatal(err)
	}
	p.said("waiting: --store: the server refuses the login")
	if err := c.ConfigSet(t.Context(), "requirepass", "").Err(); err != nil {
		t.Fatal(err)
	}
	holder.signal(15)
	if status := p.wait(); status != 0 || p.out.String() != "ran\n" {
		t.Errorf("status %d, %q: %s", status, p.out.String(), p.err.String())
	}
}

func TestPostgresRefuses(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tenure-hba-") //nolint:usetesting // an unprivileged user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	rules := filepath.Join(dir, "hba")
	text := "host all postgres,ghost 127.0.0.1/32 trust\nhost all ann 127.0.0.1/32 scram-sha-256\n"
	if err := os.WriteFile(rules, []byte(text), 0o644); err != nil { //nolint:gosec // the server's user reads it
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // as above
		t.Fatal(err)
	}
	admin := privatePostgres(t, "hba_file="+rules)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, admin)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(ctx, "CREATE ROLE ann LOGIN PASSWORD 'secret'"); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(admin)
	if err != nil {
		t.Fatal(err)
	}
	at := func(user, database string) string {
		return fmt.Sprintf("postgres://%s@%s/%s", user, u.Host, database)
	}
	for _, r := range []refusal{
		{"a wrong password", at("ann:secrets", "postgres"), []string{"refuses the login", `"ann"`, "user:password@host"}},
		{"no password", at("ann", "postgres"), []string{"refuses the login", `"ann"`}},
		{"an unknown role", at("ghost:secret", "postgres"), []string{"refuses the login", `role "ghost" does not exist`}},
		{"no rule for the user", at("bob:secret", "postgres"), []string{"refuses the login", "pg_hba.conf"}},
		{"an unknown database", at("ann:secret", "nowhere"), []string{"no such database", `"nowhere"`, "create it"}},
		{"an unknown parameter", at("ann:secret", "postgres?nonsense=1"), []string{"refuses a parameter", `"nonsense"`, "question mark"}},
	} {
		r.check(t)
	}
	if status, _, said := command("migrate", "--store", at("ann:secrets", "postgres")); status != 2 || !strings.Contains(said, "refuses the login") {
		t.Errorf("migrate: %d %q", status, said)
	}
}
