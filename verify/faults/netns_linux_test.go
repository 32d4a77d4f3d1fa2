package faults

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// namespace is a network namespace of its own with two wires to ours: one to the store, one to the witness.
type namespace struct {
	t    *testing.T
	name string
}

const (
	storeHost, storeGuest     = "10.213.77.1", "10.213.77.2"
	witnessHost, witnessGuest = "10.213.77.5", "10.213.77.6"
)

func ip(args ...string) error {
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// newNamespace skips the test where the machine does not allow it.
func newNamespace(t *testing.T) *namespace {
	t.Helper()
	n := &namespace{t: t, name: fmt.Sprintf("tenure-%d", os.Getpid())}
	if err := ip("netns", "add", n.name); err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(func() { _ = ip("netns", "del", n.name) }) // the wires go with it
	for wire, addrs := range map[string][2]string{"tnstore": {storeHost, storeGuest}, "tnwitness": {witnessHost, witnessGuest}} {
		for _, args := range [][]string{
			{"link", "add", wire, "type", "veth", "peer", "name", wire + "1", "netns", n.name},
			{"addr", "add", addrs[0] + "/30", "dev", wire},
			{"link", "set", wire, "up"},
			{"-n", n.name, "addr", "add", addrs[1] + "/30", "dev", wire + "1"},
			{"-n", n.name, "link", "set", wire + "1", "up"},
		} {
			if err := ip(args...); err != nil {
				t.Skipf("no wires between network namespaces here: %v", err)
			}
		}
	}
	return n
}

// namespacePartition runs one pod in a namespace and takes its wire to the store away. Packets vanish,
// as in a split network; the witness still hears it.
func namespacePartition(t *testing.T) *fleet {
	n := newNamespace(t)
	s := startRedis(t, "--appendonly", "no", "--bind", "127.0.0.1", storeHost, "--protected-mode", "no")
	f := startFleet(t, "redis://"+s.addr(), 2)
	l, err := net.Listen("tcp", witnessHost+":0")
	must(t, err)
	server := &http.Server{Handler: f.witness, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(l) }() // ends with the listener
	t.Cleanup(func() { server.Close() })
	f.start(podConfig{Store: fmt.Sprintf("redis://%s:%d", storeHost, s.port), Witness: "http://" + l.Addr().String()}, "ip", "netns", "exec", n.name)
	f.balanced(3)
	f.witness.since()
	must(t, ip("link", "set", "tnstore", "down"))
	time.Sleep(3 * ttl / 2)
	must(t, ip("link", "set", "tnstore", "up"))
	return f
}
