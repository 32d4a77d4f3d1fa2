package redistest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// StartReplica starts a replica of the server and waits until it is in step.
func StartReplica(tb testing.TB, of *Server, args ...string) *Server {
	tb.Helper()
	r := Start(tb, append([]string{"--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", of.Port()}, args...)...)
	r.WaitInStep()
	return r
}

// Port is the server's port as text.
func (s *Server) Port() string { return fmt.Sprint(s.port) }

// WaitInStep waits until the replica is connected to its master and has all its data.
func (s *Server) WaitInStep() {
	s.tb.Helper()
	s.waitInfo("replication", "master_link_status:up")
}

// waitInfo waits until INFO says so.
func (s *Server) waitInfo(section, want string) {
	s.tb.Helper()
	c := redis.NewClient(s.Options())
	defer c.Close()
	var text string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if text, _ = c.Info(context.Background(), section).Result(); strings.Contains(text, want) {
			return
		}
	}
	s.tb.Fatalf("the server at %s does not come to %q: %s", s.Addr, want, text)
}

// StartSentinel starts one Sentinel that watches the master under the name "fleet" and decides alone.
func StartSentinel(tb testing.TB, master *Server, downAfter time.Duration) *Server {
	tb.Helper()
	s := &Server{tb: tb, Dir: tb.TempDir(), port: freePort(tb)}
	s.Addr = fmt.Sprintf("127.0.0.1:%d", s.port)
	conf := s.Dir + "/sentinel.conf"
	text := fmt.Sprintf(`port %d
bind 127.0.0.1
dir %s
logfile %s
sentinel monitor fleet 127.0.0.1 %s 1
sentinel down-after-milliseconds fleet %d
sentinel failover-timeout fleet 5000
`, s.port, s.Dir, s.log(), master.Port(), downAfter.Milliseconds())
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	s.args = []string{binary(tb), conf, "--sentinel"}
	if err := s.launch(); err != nil {
		tb.Fatalf("Sentinel does not start: %v", err)
	}
	tb.Cleanup(s.Stop)
	s.waitInfo("sentinel", "slaves=1")
	return s
}

// Cluster is three masters, each with a replica.
type Cluster struct {
	Masters, Replicas []*Server
	tb                testing.TB
}

// StartCluster starts one whose nodes give each other up after the timeout.
func StartCluster(tb testing.TB, timeout time.Duration) *Cluster {
	tb.Helper()
	c := &Cluster{tb: tb}
	var all []*Server
	for range 6 {
		all = append(all, Start(tb, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
			"--cluster-node-timeout", fmt.Sprint(timeout.Milliseconds()), "--repl-diskless-sync-delay", "0",
			"--cluster-replica-validity-factor", "0"))
	}
	c.Masters, c.Replicas = all[:3], all[3:]
	for _, s := range all[1:] {
		s.Admin("CLUSTER", "MEET", "127.0.0.1", all[0].port)
	}
	for i, m := range c.Masters {
		m.Admin("CLUSTER", "ADDSLOTSRANGE", i*5461, []int{5460, 10921, 16383}[i])
	}
	for _, s := range all {
		s.waitInfo("cluster", "cluster_enabled:1")
		s.waitNodes(6)
	}
	for i, r := range c.Replicas {
		r.Admin("CLUSTER", "REPLICATE", c.Masters[i].ID())
		r.WaitInStep()
	}
	for _, s := range all {
		s.waitState()
	}
	return c
}

// ID is the node's name in its cluster.
func (s *Server) ID() string {
	s.tb.Helper()
	return s.Admin("CLUSTER", "MYID").(string)
}

func (s *Server) waitNodes(n int) {
	s.tb.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		text := s.Admin("CLUSTER", "NODES").(string)
		if strings.Count(text, "\n") == n && !strings.Contains(text, "handshake") {
			return
		}
	}
	s.tb.Fatal("the cluster's nodes do not meet")
}

func (s *Server) waitState() {
	s.tb.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(s.Admin("CLUSTER", "INFO").(string), "cluster_state:ok") {
			return
		}
	}
	s.tb.Fatal("the cluster does not come up")
}

// Options are a client's options for the cluster.
func (c *Cluster) Options(timeout time.Duration) *redis.ClusterOptions {
	o := &redis.ClusterOptions{
		DialTimeout: timeout, ReadTimeout: timeout, DialerRetries: 1,
		MaintNotificationsConfig: Options("").MaintNotificationsConfig,
	}
	for _, s := range append(append([]*Server{}, c.Masters...), c.Replicas...) {
		o.Addrs = append(o.Addrs, s.Addr)
	}
	return o
}

// Client returns a client for the cluster that is closed when the test ends.
func (c *Cluster) Client(timeout time.Duration) *redis.ClusterClient {
	client := redis.NewClusterClient(c.Options(timeout))
	c.tb.Cleanup(func() { client.Close() })
	return client
}

// Owner returns the index of the master that serves the key's slot, and the slot.
func (c *Cluster) Owner(key string) (i int, slot int64) {
	c.tb.Helper()
	slot = c.Masters[0].Admin("CLUSTER", "KEYSLOT", key).(int64)
	return min(int(slot)/5461, 2), slot
}

// Migrate moves a slot with all its keys from one master to another, key by key with pause in between.
func (c *Cluster) Migrate(slot int64, from, to *Server, pause time.Duration) {
	c.tb.Helper()
	to.Admin("CLUSTER", "SETSLOT", slot, "IMPORTING", from.ID())
	from.Admin("CLUSTER", "SETSLOT", slot, "MIGRATING", to.ID())
	for {
		keys := from.Admin("CLUSTER", "GETKEYSINSLOT", slot, 1).([]any)
		if len(keys) == 0 {
			break
		}
		from.Admin("MIGRATE", "127.0.0.1", to.port, keys[0], 0, 5000)
		time.Sleep(pause)
	}
	for _, s := range []*Server{to, from} {
		s.Admin("CLUSTER", "SETSLOT", slot, "NODE", to.ID())
	}
	for _, s := range c.Masters {
		if s != to && s != from {
			s.Admin("CLUSTER", "SETSLOT", slot, "NODE", to.ID())
		}
	}
}
