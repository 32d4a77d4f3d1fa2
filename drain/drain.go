package drain

import (
	"errors"
)

// Drainable is told the moment a drain begins, well before its timeout: finish what is in
// flight, take nothing new, then return. RequestDrain is called once per term, on a goroutine of
// its own, and may block.
type Drainable interface{ RequestDrain() }

// Causes of a worker's cancelled context, and errors of a Drainer.
var (
	// ErrDraining: a drain has begun.
	ErrDraining = errors.New("tenure: draining")
	// ErrTimeout: the drain timeout passed before the worker returned, so it was cancelled. It is
	// the cause of the worker's context.
	ErrTimeout = errors.New("tenure: drain timeout")
)
