package faults

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// network is one way to a server, which can be hurt.
type network struct {
	t *testing.T
	p *toxiproxy.Proxy
}

func newNetwork(t *testing.T, upstream string) *network {
	t.Helper()
	api := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	n := &network{t: t, p: toxiproxy.NewProxy(api, "store", "127.0.0.1:0", upstream)}
	must(t, n.p.Start())
	t.Cleanup(n.p.Stop)
	return n
}

func (n *network) addr() string { return n.p.Listen }

// point leads to another server from now on; connections to the old one end.
func (n *network) point(upstream string) {
	n.t.Helper()
	n.p.Stop()
	n.p.Upstream = upstream
	must(n.t, n.p.Start())
}

// during applies a toxic of the given type, both ways, for a while.
func (n *network) during(d time.Duration, kind string, attributes map[string]any) {
	n.t.Helper()
	for _, stream := range []string{"upstream", "downstream"} {
		text, err := json.Marshal(map[string]any{"name": stream, "type": kind, "stream": stream, "attributes": attributes})
		must(n.t, err)
		_, err = n.p.Toxics.AddToxicJson(strings.NewReader(string(text)))
		must(n.t, err)
	}
	time.Sleep(d)
	for _, stream := range []string{"upstream", "downstream"} {
		must(n.t, n.p.Toxics.RemoveToxic(context.Background(), stream))
	}
}

// cut ends all connections and refuses new ones for a while.
func (n *network) cut(d time.Duration) {
	n.t.Helper()
	n.p.Stop()
	time.Sleep(d)
	must(n.t, n.p.Start())
}

// blackhole swallows everything without a word: no answer, no reset, nothing refused.
func (n *network) blackhole(d time.Duration) {
	n.t.Helper()
	n.during(d, "timeout", map[string]any{"timeout": 0})
}
