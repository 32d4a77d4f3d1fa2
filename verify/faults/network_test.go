package faults

import (
	"testing"
	"time"
)

// onNetworks starts three pods, each with its own way to the server.
func onNetworks(t *testing.T) (*fleet, []*network) {
	t.Helper()
	s := startRedis(t)
	f := startFleet(t, "redis://"+s.addr(), 0)
	var ways []*network
	for range 3 {
		n := newNetwork(t, s.addr())
		ways = append(ways, n)
		f.addOn("redis://" + n.addr())
	}
	f.balanced(3)
	return f, ways
}

func networkFaults() []fault {
	return []fault{
		{name: "one pod black-holed for 1.5 TTL", ci: true, unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			ways[0].blackhole(3 * ttl / 2)
			return f
		}},
		{name: "all pods black-holed for 2 TTL", unowned: 3 * ttl, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			done := make(chan struct{})
			for _, w := range ways {
				go func() { w.blackhole(2 * ttl); done <- struct{}{} }()
			}
			for range ways {
				<-done
			}
			return f
		}},
		{name: "connections cut for TTL/4", kept: true, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			ways[0].cut(ttl / 4)
			return f
		}},
		{name: "connections cut for 1.5 TTL", unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			ways[0].cut(3 * ttl / 2)
			return f
		}},
		{name: "connections reset for TTL", unowned: ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			ways[0].during(ttl, "reset_peer", map[string]any{"timeout": 50})
			return f
		}},
		{name: "answers 100 ms late, give or take 50", kept: true, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			ways[0].during(2*ttl, "latency", map[string]any{"latency": 50, "jitter": 25})
			return f
		}},
		{name: "answers cut off after 200 bytes", unowned: 2*ttl + time.Second, hurt: func(t *testing.T) *fleet {
			f, ways := onNetworks(t)
			ways[0].during(ttl, "limit_data", map[string]any{"bytes": 200})
			return f
		}},
		{name: "partition of a network namespace for 1.5 TTL", ci: true, unowned: ttl + time.Second, hurt: namespacePartition},
	}
}
