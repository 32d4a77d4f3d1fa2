package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/tenure-go/tenure/dashboard"
	"github.com/tenure-go/tenure/instance"
)

// fleetPage is the page of the whole fleet, which the parent serves: it knows no pod, only the store. Who
// reaches it from this machine may drain pods and revoke leases.
type fleetPage struct {
	URL     string
	page    *dashboard.Page
	server  *http.Server
	closer  func() error
	stop    context.CancelFunc
	running sync.WaitGroup
}

// mostRemembered is the largest catalogue that is followed while nobody watches. To read a larger one
// again and again would slow the embedded store down for the pods.
const mostRemembered = 500

// openPage serves the page at an address; nil where that is empty.
func openPage(o options, cfg storeConfig) (*fleetPage, error) {
	if o.page == "" {
		return nil, nil
	}
	store, closer, err := openStore(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	p := &fleetPage{closer: closer.Close}
	p.page, err = dashboard.New(store, dashboard.Config{
		Title: "Tenure sample", Timing: o.timing, Catalogue: o.known, Authorize: local,
		Name: func(i instance.Instance) string { return i.Labels["pod"] },
	})
	if err != nil {
		return nil, errors.Join(err, closer.Close())
	}
	listener, err := net.Listen("tcp", o.page)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-page: %w", err), closer.Close())
	}
	p.URL = "http://" + listener.Addr().String() + "/"
	p.server = &http.Server{Handler: p.page, ReadHeaderTimeout: time.Minute}
	p.server.RegisterOnShutdown(p.page.Close)
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	p.running.Go(func() { _ = p.server.Serve(listener) }) // it ends with Close, and says so
	if len(o.catalogue) <= mostRemembered {
		p.running.Go(func() { _ = p.page.Run(ctx) }) // nil when it was stopped
	}
	return p, nil
}

// known is all that this fleet has to run.
func (o options) known() []dashboard.Workload {
	list := make([]dashboard.Workload, 0, len(o.catalogue)+1)
	for _, key := range o.catalogue {
		w := dashboard.Workload{}
		w.Key = key
		list = append(list, w)
	}
	digest := dashboard.Workload{Name: "digest (singleton)", Alone: true}
	digest.Key = digestKey
	return append(list, digest)
}

// local lets this machine's own browser act, and nobody else. The name in the request is checked as well: a
// site that makes its own name point here is not this page.
func local(r *http.Request, _ dashboard.Action) error {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	host, _, splitErr := net.SplitHostPort(r.Host)
	to, parseErr := netip.ParseAddr(host)
	if err != nil || splitErr != nil || !from.Addr().Unmap().IsLoopback() || host != "localhost" && (parseErr != nil || !to.IsLoopback()) {
		return errors.New("the sample's page acts only for a browser on the same machine, at its own address")
	}
	return nil
}

// Close ends the page and what it reads.
func (p *fleetPage) Close() error {
	if p == nil {
		return nil
	}
	p.stop()
	p.page.Close()
	err := errors.Join(p.server.Close(), p.closer())
	p.running.Wait()
	return err
}

// checkAddress refuses what cannot be listened on.
func checkAddress(address string) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("-page %s: write it as host:port, such as 127.0.0.1:8080, or leave it empty for no page", address)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("-page %s: %q is not a port", address, port)
	}
	if _, err := netip.ParseAddr(host); err != nil && host != "" && host != "localhost" || strings.ContainsAny(host, " /") {
		return fmt.Errorf("-page %s: %q is not an address of this machine", address, host)
	}
	return nil
}
