package lease_test

import (
	"context"
	"fmt"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
)

// printer is the smallest Claimant: it says what happened and lets go of what it lost.
type printer struct{ granted chan *lease.Hold }

func (p printer) Granted(h *lease.Hold)                    { p.granted <- h }
func (p printer) Refused(r lease.Refusal)                  { fmt.Println("held by", r.Owner) }
func (p printer) Lost(h *lease.Hold, why *lease.LostError) { fmt.Println(why); h.Release() }
func (p printer) Released(h *lease.Hold)                   {}

// A Keeper holds any number of keys on one session. Package runner builds jobs on it; use it
// directly where a term is not a function call.
func ExampleKeeper() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	keeper, err := lease.NewKeeper(store, instance.New(), lease.KeeperConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error)
	go func() { done <- keeper.Run(ctx) }()

	p := printer{granted: make(chan *lease.Hold, 1)}
	claim, err := keeper.Claim("nightly-report", p)
	if err != nil {
		fmt.Println(err)
		return
	}
	hold := <-p.granted
	fmt.Println(hold.Lease().Key, "valid:", hold.Valid(), "token above 0:", hold.Lease().Token > 0)
	hold.Release()
	fmt.Println(hold.Lease().Key, "valid:", hold.Valid())
	claim.Close()
	stop()
	fmt.Println(<-done)
	// Output:
	// nightly-report valid: true token above 0: true
	// nightly-report valid: false
	// <nil>
}

// Timing fills what is not set and refuses what cannot work, naming the bound.
func ExampleTiming_Resolve() {
	_, err := lease.Timing{RenewInterval: 5e9}.Resolve()
	fmt.Println(err)
	// Output: tenure: invalid Timing.RenewInterval 5s: must be at most LeaseTTL/3 = 3.333333333s
}
