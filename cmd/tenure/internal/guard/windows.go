//go:build !unix

package guard

import "time"

// Guard cannot be made here; see ErrUnsupported.
type Guard struct{}

// Now returns the present instant.
func Now() Instant { return Instant(time.Now().UnixNano()) }

// Main is the main function of the guardian process.
func Main() int { return 2 }

// Start always returns ErrUnsupported.
func Start(Config) (*Guard, error) { return nil, ErrUnsupported }

// Extend does nothing here.
func (*Guard) Extend(Instant) {}

// Signal does nothing here.
func (*Guard) Signal(int) {}

// Stop does nothing here.
func (*Guard) Stop(int, Instant) {}

// Kill does nothing here.
func (*Guard) Kill() {}

// Abort does nothing here.
func (*Guard) Abort() {}

// Asked returns nil.
func (*Guard) Asked() <-chan Cause { return nil }

// Done returns nil.
func (*Guard) Done() <-chan struct{} { return nil }

// Result is empty.
func (*Guard) Result() Result { return Result{} }
