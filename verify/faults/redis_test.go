package faults

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"
)

// onRedis starts three pods on a durable server of their own.
func onRedis(t *testing.T) (*fleet, *server) {
	t.Helper()
	s := startRedis(t)
	return startFleet(t, "redis://"+s.addr(), 3), s
}

// The faults of processes do not depend on the store.
func redisFaults() []fault {
	return []fault{
		{name: "kill -9 of a pod", ci: true, unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, _ := onRedis(t)
			f.pods[0].kill()
			return f
		}},
		{name: "two of three pods die at once", unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, _ := onRedis(t)
			f.pods[0].signal(syscall.SIGKILL) // as the kernel does when memory runs out
			f.pods[1].signal(syscall.SIGKILL)
			return f
		}},
		{name: "pod paused for TTL/2", kept: true, unowned: ttl / 2, hurt: func(t *testing.T) *fleet {
			f, _ := onRedis(t)
			f.pods[0].freeze(ttl / 2)
			return f
		}},
		{name: "pod paused for 1.5 TTL", ci: true, unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, _ := onRedis(t)
			f.pods[0].freeze(3 * ttl / 2)
			return f
		}},
		{name: "pod paused for 3 TTL", unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, _ := onRedis(t)
			f.pods[0].freeze(3 * ttl)
			return f
		}},
		{name: "storm of SIGTERM", ci: true, unowned: time.Second, hurt: sigtermStorm},
		{name: "server stopped for TTL/4", kept: true, hurt: func(t *testing.T) *fleet {
			f, s := onRedis(t)
			s.signal(syscall.SIGSTOP)
			time.Sleep(ttl / 4)
			s.signal(syscall.SIGCONT)
			return f
		}},
		{name: "server stopped for 3 TTL", unowned: 3 * ttl, hurt: func(t *testing.T) *fleet {
			f, s := onRedis(t)
			s.signal(syscall.SIGSTOP)
			time.Sleep(3 * ttl)
			s.signal(syscall.SIGCONT)
			return f
		}},
		{name: "server killed, back with its data", ci: true, kept: true, hurt: func(t *testing.T) *fleet {
			f, s := onRedis(t)
			s.stop(syscall.SIGKILL)
			s.start()
			return f
		}},
		{name: "server killed, back without data", ci: true, kept: true, hurt: func(t *testing.T) *fleet {
			s := startRedis(t, "--appendonly", "no")
			f := startFleet(t, "redis://"+s.addr(), 3)
			s.stop(syscall.SIGKILL)
			s.start()
			return f
		}},
		{name: "FLUSHALL", kept: true, hurt: func(t *testing.T) *fleet {
			f, s := onRedis(t)
			s.cli("FLUSHALL")
			return f
		}},
		{name: "promotion of a replica that missed writes", kept: true, hurt: redisPromotion},
		{name: "Sentinel fails over", unowned: 15 * time.Second, hurt: sentinelFailover},
		{name: "slot migrates in a cluster", kept: true, hurt: slotMigration},
		{name: "cluster loses a master", unowned: 15 * time.Second, hurt: masterLoss},
	}
}

// sigtermStorm replaces every pod, and ends some newcomers before they have settled.
func sigtermStorm(t *testing.T) *fleet {
	f, _ := onRedis(t)
	for i := range 3 {
		f.add()
		hasty := f.add()
		time.Sleep(ttl / 2)
		f.pods[i].stop()
		hasty.stop()
		<-f.pods[i].gone
	}
	return f
}

// redisPromotion cuts a replica off, grants terms that it misses, and has it take over.
func redisPromotion(t *testing.T) *fleet {
	master := startRedis(t)
	replica := startRedis(t)
	replica.cli("REPLICAOF", "127.0.0.1", fmt.Sprint(master.port))
	replica.until("master_link_status:up", "INFO", "replication")
	way := newNetwork(t, master.addr())
	f := startFleet(t, "redis://"+way.addr(), 3)
	replica.cli("REPLICAOF", "127.0.0.1", "1") // nobody is there: it lags from now on
	f.pods[0].stop()                           // handovers that the replica knows nothing of
	<-f.pods[0].gone
	f.settle(40 * time.Second)
	f.witness.since()
	replica.cli("REPLICAOF", "NO", "ONE")
	way.point(replica.addr())
	master.stop(syscall.SIGKILL)
	return f
}

func sentinelFailover(t *testing.T) *fleet {
	master, replica := startRedis(t), startRedis(t)
	replica.cli("REPLICAOF", "127.0.0.1", fmt.Sprint(master.port))
	replica.until("master_link_status:up", "INFO", "replication")
	sentinel := &server{t: t, bin: binary(t, "redis-server"), dir: t.TempDir(), port: freePort(t)}
	conf := writeFile(t, sentinel.dir, "sentinel.conf", fmt.Sprintf("bind 127.0.0.1\nport %d\nsentinel monitor main 127.0.0.1 %d 1\nsentinel down-after-milliseconds main 500\nsentinel failover-timeout main 3000\n", sentinel.port, master.port))
	sentinel.args = []string{conf, "--sentinel"}
	sentinel.ready = func(s *server) bool { return s.cli("PING") == "PONG" }
	sentinel.start()
	t.Cleanup(sentinel.end)
	sentinel.until("slaves=1", "INFO", "sentinel")
	f := startFleet(t, "redis+sentinel://main@"+sentinel.addr(), 3)
	master.stop(syscall.SIGKILL)
	replica.until("role:master", "INFO", "replication")
	return f
}

// startCluster is three masters, the first with a replica if asked for.
func startCluster(t *testing.T, replica bool) (nodes []*server) {
	t.Helper()
	n := 3
	if replica {
		n = 6 // redis-cli gives each master one
	}
	var addrs []string
	for range n {
		s := startRedis(t, "--appendonly", "yes", "--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
		nodes, addrs = append(nodes, s), append(addrs, s.addr())
	}
	create := append([]string{"--cluster", "create"}, addrs...)
	create = append(create, "--cluster-replicas", fmt.Sprint(n/3-1), "--cluster-yes")
	nodes[0].cli(create...)
	for _, s := range nodes {
		s.until("cluster_state:ok", "CLUSTER", "INFO")
	}
	return nodes
}

func clusterURL(nodes []*server) string {
	var addrs []string
	for _, s := range nodes {
		addrs = append(addrs, s.addr())
	}
	return "redis+cluster://" + strings.Join(addrs, ",")
}

// owner is the master that has the fleet's slot, and the slot.
func owner(nodes []*server) (*server, string) {
	slot := nodes[0].cli("CLUSTER", "KEYSLOT", "{tenure:"+fleetName+"}")
	for _, s := range nodes {
		if s.cli("CLUSTER", "COUNTKEYSINSLOT", slot) != "0" && strings.Contains(s.cli("INFO", "replication"), "role:master") {
			return s, slot
		}
	}
	nodes[0].t.Fatalf("no master has the fleet's slot %s", slot)
	return nil, ""
}

func slotMigration(t *testing.T) *fleet {
	nodes := startCluster(t, false)
	f := startFleet(t, clusterURL(nodes), 3)
	from, slot := owner(nodes)
	to := nodes[0]
	if to == from {
		to = nodes[1]
	}
	fromID, toID := from.cli("CLUSTER", "MYID"), to.cli("CLUSTER", "MYID")
	to.cli("CLUSTER", "SETSLOT", slot, "IMPORTING", fromID)
	from.cli("CLUSTER", "SETSLOT", slot, "MIGRATING", toID)
	for {
		keys := strings.Fields(from.cli("CLUSTER", "GETKEYSINSLOT", slot, "100"))
		if len(keys) == 0 {
			break
		}
		from.cli(append([]string{"MIGRATE", "127.0.0.1", fmt.Sprint(to.port), "", "0", "5000", "KEYS"}, keys...)...)
	}
	for _, s := range nodes {
		s.cli("CLUSTER", "SETSLOT", slot, "NODE", toID)
	}
	return f
}

func masterLoss(t *testing.T) *fleet {
	nodes := startCluster(t, true)
	f := startFleet(t, clusterURL(nodes), 3)
	lost, _ := owner(nodes)
	lost.stop(syscall.SIGKILL)
	for _, s := range nodes {
		if s != lost {
			s.until("cluster_state:ok", "CLUSTER", "INFO")
		}
	}
	return f
}
