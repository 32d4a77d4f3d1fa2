package main

import (
	"fmt"
	"os"

	"github.com/cespare/xxhash/v2"
	"github.com/dgryski/go-jump"
	"github.com/dgryski/go-rendezvous"
	"github.com/serialx/hashring"

	"github.com/tenure-go/tenure/assigner"
)

// contender places all workloads of a fleet.
type contender struct {
	name  string
	place func(*fleet) map[string]string
	ours  assigner.Indexed // nil for the others
}

func contenders() []contender {
	return []contender{
		ours("Sticky", assigner.Sticky{}),
		ours("Weighted", assigner.Weighted{}),
		ours("Rendezvous", assigner.Rendezvous{}),
		ours("Rendezvous, cap 100 %", assigner.Rendezvous{CapPercent: 100}),
		ours("Rendezvous, cap 110 %", assigner.Rendezvous{CapPercent: 110}),
		ours("Partition", assigner.Partition{}),
		ours("Balanced", assigner.Balanced{}),
		ours("Primary", assigner.Primary{}),
		ours("Primary, Rollout", assigner.Primary{Rollout: true}),
		{name: "modulo, hash % 10 000 % N", place: modulo},
		{name: "dgryski/go-jump, xxhash", place: jumpHash},
		{name: "dgryski/go-rendezvous, xxhash", place: rendezvousHash},
		{name: "serialx/hashring", place: ring},
	}
}

func ours(name string, a assigner.Indexed) contender {
	return contender{"**" + name + "**", func(f *fleet) map[string]string {
		plan, err := a.Plan(f.input())
		if err != nil {
			fmt.Fprintf(os.Stderr, "assign: %s: %v\n", name, err)
			os.Exit(1)
		}
		owner := make(map[string]string, len(plan.Targets))
		for _, t := range plan.Targets {
			owner[t.Key] = string(t.Instance)
		}
		return owner
	}, a}
}

// modulo numbers the pods in the order of joining.
func modulo(f *fleet) map[string]string {
	pods := f.usable()
	owner := make(map[string]string, len(f.keys))
	for _, key := range f.keys {
		owner[key] = pods[xxhash.Sum64String(key)%10_000%uint64(len(pods))]
	}
	return owner
}

// jumpHash numbers the pods in the order of joining.
func jumpHash(f *fleet) map[string]string {
	pods := f.usable()
	owner := make(map[string]string, len(f.keys))
	for _, key := range f.keys {
		owner[key] = pods[jump.Hash(xxhash.Sum64String(key), len(pods))]
	}
	return owner
}

func rendezvousHash(f *fleet) map[string]string {
	table := rendezvous.New(f.usable(), xxhash.Sum64String)
	owner := make(map[string]string, len(f.keys))
	for _, key := range f.keys {
		owner[key] = table.Lookup(key)
	}
	return owner
}

func ring(f *fleet) map[string]string {
	circle := hashring.New(f.usable())
	owner := make(map[string]string, len(f.keys))
	for _, key := range f.keys {
		pod, ok := circle.GetNode(key)
		if !ok {
			fmt.Fprintln(os.Stderr, "assign: hashring found no pod for", key)
			os.Exit(1)
		}
		owner[key] = pod
	}
	return owner
}
