package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	"go.etcd.io/etcd/server/v3/embed"
)

// election is two candidates on an embedded server, started when it is first needed.
type election struct {
	dir    string
	server *embed.Etcd
	client *clientv3.Client
	sides  [2]*concurrency.Election
	leads  int
	close  []func()
}

// settle is how long a follower waits before the leader resigns. One that has begun less than 100 ms before
// pays the rest of them, because its watch starts in the past.
const settle = 150 * time.Millisecond

func freeURL() (url.URL, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return url.URL{}, err
	}
	defer l.Close()
	return url.URL{Scheme: "http", Host: l.Addr().String()}, nil
}

func (e *election) start(ctx context.Context) error {
	var err error
	if e.dir, err = os.MkdirTemp("", "tenure-bench-etcd-"); err != nil {
		return err
	}
	cfg := embed.NewConfig()
	cfg.Dir, cfg.LogLevel = e.dir, "panic" // at its end it takes its own closed listeners for errors
	clients, err := freeURL()
	if err != nil {
		return err
	}
	between, err := freeURL()
	if err != nil {
		return err
	}
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{clients}, []url.URL{clients}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{between}, []url.URL{between}
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	if e.server, err = embed.StartEtcd(cfg); err != nil {
		return err
	}
	select {
	case <-e.server.Server.ReadyNotify():
	case <-time.After(30 * time.Second):
		return fmt.Errorf("etcd is not ready after 30 s")
	}
	if e.client, err = clientv3.New(clientv3.Config{Endpoints: []string{clients.Host}, Context: ctx}); err != nil {
		return err
	}
	for i := range e.sides {
		s, err := concurrency.NewSession(e.client)
		if err != nil {
			return err
		}
		e.close = append(e.close, func() { _ = s.Close() })
		e.sides[i] = concurrency.NewElection(s, "/election")
	}
	return e.sides[0].Campaign(ctx, "side")
}

func (e *election) stop() {
	for _, f := range e.close {
		f()
	}
	if e.client != nil {
		_ = e.client.Close()
	}
	if e.server != nil {
		e.server.Close()
	}
	if e.dir != "" {
		_ = os.RemoveAll(e.dir)
	}
}

// handovers has the leader resign n times, and returns how long it took until the other one led.
func (e *election) handovers(n int) ([]float64, error) {
	ctx := context.Background()
	if e.server == nil {
		if err := e.start(ctx); err != nil {
			return nil, err
		}
	}
	var took []float64
	for range n {
		type got struct {
			at  time.Time
			err error
		}
		done, next := make(chan got, 1), e.sides[1-e.leads]
		go func() {
			err := next.Campaign(ctx, "side")
			done <- got{time.Now(), err}
		}()
		time.Sleep(settle + rand.N(settle))
		began := time.Now()
		if err := e.sides[e.leads].Resign(ctx); err != nil {
			return nil, err
		}
		g := <-done
		if g.err != nil {
			return nil, g.err
		}
		took = append(took, ms(g.at.Sub(began)))
		e.leads = 1 - e.leads
	}
	return took, nil
}
