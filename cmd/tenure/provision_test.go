package main

import (
	"net"
	"strings"
	"testing"
)

// Provisioning says whether it had an effect. The flags name a fleet that does not exist, and use is what begins another one.
func provisionTells(t *testing.T, flags func(fleet string) []string) {
	t.Helper()
	provision := func(fleet string, more ...string) string {
		return must(t, append(append([]string{"provision"}, flags(fleet)...), more...)...)
	}
	if out := provision("new"); !strings.Contains(out, "fleet new is set up at") {
		t.Errorf("a new fleet: %q", out)
	}
	if out := provision("new"); !strings.Contains(out, "fleet new exists already") || !strings.Contains(out, "nothing was changed") || strings.Contains(out, "frozen") {
		t.Errorf("the same again: %q", out)
	}
	if v := object(t, provision("new", "--json")); v["provisioned"] != false || v["frozenSeconds"] != nil {
		t.Errorf("the same as JSON: %v", v)
	}
	if v := object(t, provision("other", "--json")); v["provisioned"] != true {
		t.Errorf("another one as JSON: %v", v)
	}
	// A fleet whose processes name other lengths than this command is found.
	provision("short", "--max-ttl", "30s")
	if out := must(t, append([]string{"check", "--clock", "0", "--max-ttl", "30s"}, flags("short")...)...); strings.Contains(out, "--max-ttl") {
		t.Errorf("a check with the fleet's own: %q", out)
	}
	if out := must(t, append([]string{"check", "--clock", "0"}, flags("short")...)...); !strings.Contains(out, "warning: --max-ttl 15s") || !strings.Contains(out, "used with 30s") {
		t.Errorf("a check with another: %q", out)
	}
	// One that was used first is frozen, for so long that no slow machine outlasts it, and provisioning comes too late.
	used := append(flags("used"), "--max-ttl", "12h")
	p := running(t, "", used, "--no-wait", "--", "echo", "ran")
	if status, said := p.wait(), p.err.String(); status != 75 || !strings.Contains(said, "frozen for ") || !strings.Contains(said, "wait for that long") || !strings.Contains(said, "before its first use") {
		t.Errorf("the first use: %d %q", status, said)
	}
	if out := provision("used", "--max-ttl", "12h"); !strings.Contains(out, "nothing was changed, and its grants are frozen for 1") {
		t.Errorf("a fleet that is frozen: %q", out)
	}
	if v := object(t, provision("used", "--max-ttl", "12h", "--json")); v["provisioned"] != false || v["frozenSeconds"].(float64) < 60 {
		t.Errorf("the same as JSON: %v", v)
	}
}

func TestProvisionTellsWhetherItHadAnEffect(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		s := privateRedis(t)
		provisionTells(t, func(fleet string) []string { return []string{"--store", s.url, "--fleet", fleet} })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		store := privatePostgres(t)
		if status, _, said := command("provision", "--store", store); status != 3 || !strings.Contains(said, "tenure migrate") {
			t.Errorf("without a schema: %d %q", status, said)
		}
		must(t, "migrate", "--store", store, "--schema", "Other one")
		provisionTells(t, func(fleet string) []string {
			return []string{"--store", store, "--schema", "Other one", "--fleet", fleet}
		})
	})
}

// A replica takes no writes, which no check is to be blamed for.
func TestVerifyOnAReplica(t *testing.T) {
	t.Parallel()
	master := privateRedis(t)
	host, port, _ := net.SplitHostPort(strings.TrimSuffix(strings.TrimPrefix(master.url, "redis://"), "/0"))
	replica := privateRedis(t, "--replicaof", host+" "+port)
	status, out, said := commandOf(t, "verify", "--store", replica.url, "--run", "^O01")
	if status != 3 || out != "" || said != "tenure: the store takes no writes; connect to the primary\n" {
		t.Errorf("%d %q %q", status, out, said)
	}
}
