package main

import (
	"errors"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	tenureprom "github.com/tenure-go/tenure/adapters/prometheus"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/health"
	"github.com/tenure-go/tenure/runner"
)

// port is a pod's internal port, which a platform asks for its health and Prometheus for its metrics. The
// fleet's page shows its address.
type port struct {
	metrics  *tenureprom.Collector
	registry *prometheus.Registry
	listener net.Listener
	server   *http.Server
	running  sync.WaitGroup
}

// openPort takes a free port of this machine. Nothing is answered before serve.
func openPort() (*port, error) {
	metrics, err := tenureprom.New(tenureprom.Config{})
	if err != nil {
		return nil, err
	}
	p := &port{metrics: metrics, registry: prometheus.NewRegistry(), server: &http.Server{ReadHeaderTimeout: time.Minute}}
	err = errors.Join(p.registry.Register(metrics), p.registry.Register(collectors.NewGoCollector()),
		p.registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})))
	if err != nil {
		return nil, err
	}
	p.listener, err = net.Listen("tcp", "127.0.0.1:0")
	return p, err
}

func (p *port) address() string { return p.listener.Addr().String() }

// serve answers until Close.
func (p *port) serve(fleet *coordinator.Coordinator[string], digest *runner.Runner) error {
	h, err := health.New(health.Config{}, health.Coordinator(fleet), health.Runner(digest))
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /livez", h.Livez())
	mux.Handle("GET /readyz", h.Readyz())
	mux.Handle("GET /metrics", promhttp.HandlerFor(p.registry, promhttp.HandlerOpts{}))
	p.server.Handler = mux
	p.running.Go(func() { _ = p.server.Serve(p.listener) }) // it ends with Close, and says so
	return nil
}

// Close ends it.
func (p *port) Close() error {
	err := errors.Join(p.server.Close(), p.listener.Close())
	p.running.Wait()
	return err
}
