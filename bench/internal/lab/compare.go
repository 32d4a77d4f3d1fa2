package lab

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"
)

// Kind says what a contender is.
type Kind string

// The kinds.
const (
	Floor Kind = "floor" // written by hand: what the store allows at best
	Ours  Kind = "ours"
	Peer  Kind = "peer"
)

// Contender does the work once per round.
type Contender struct {
	Name string
	Kind Kind
	// Round does the work and returns the round's value, in the table's unit.
	Round func(ctx context.Context) (float64, error)
}

// Lab runs comparisons.
type Lab struct {
	// Rounds is how often each contender does the work, after one round of all that does not count.
	Rounds int
	// Cold leaves out the round that does not count: for what is dear and begins anew every time.
	Cold bool
	// Log is told what is being done.
	Log io.Writer
}

// Say tells what is being done.
func (l *Lab) Say(format string, args ...any) { fmt.Fprintf(l.Log, format+"\n", args...) }

// Compare has the contenders do the work in alternation. Who begins changes with every round.
func (l *Lab) Compare(ctx context.Context, title, unit string, contenders ...Contender) (*Table, error) {
	t := &Table{Title: title, Unit: unit}
	for _, c := range contenders {
		t.Rows = append(t.Rows, Row{Name: c.Name, Kind: c.Kind})
	}
	first := -1
	if l.Cold {
		first = 0
	}
	for round := first; round < l.Rounds; round++ {
		for i := range contenders {
			at := (i + max(round, 0)) % len(contenders)
			runtime.GC() // nobody pays for the garbage of another
			began := time.Now()
			v, err := contenders[at].Round(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", title, contenders[at].Name, err)
			}
			l.Say("  round %d: %s: %s %s (%v)", round+1, contenders[at].Name, Digits(v), unit, time.Since(began).Round(time.Millisecond))
			if round >= 0 {
				t.Rows[at].Values = append(t.Rows[at].Values, v)
			}
		}
	}
	return t, nil
}

// Median returns the middle of the values, 0 of none.
func Median(values []float64) float64 { return Quantile(values, 0.5) }

// Quantile returns the value below which the part q of the values lies; between two it takes the mean
// for the median and the next one otherwise.
func Quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	if q == 0.5 && len(s)%2 == 0 {
		return (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return s[min(int(q*float64(len(s))), len(s)-1)]
}

// Mean returns the arithmetic mean, 0 of none.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Ms is a duration in milliseconds.
func Ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Each times n calls of f one by one, in milliseconds.
func Each(n int, f func() error) ([]float64, error) {
	took := make([]float64, n)
	for i := range took {
		began := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		took[i] = Ms(time.Since(began))
	}
	return took, nil
}

// MedianOf is the median of n calls of f, in milliseconds, after a few that do not count.
func MedianOf(n int, f func() error) (float64, error) {
	for range min(n, 10) {
		if err := f(); err != nil {
			return 0, err
		}
	}
	took, err := Each(n, f)
	return Median(took), err
}

// Once times one call of f, in milliseconds.
func Once(f func() error) (float64, error) {
	took, err := Each(1, f)
	return Median(took), err
}
