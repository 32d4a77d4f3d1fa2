package main

import (
	"context"
	"math/rand/v2"
	"os"
)

// keys obeys the viewer until ctx ends; q calls quit. Without a terminal it only waits.
func (s *screen) keys(ctx context.Context, r *run, quit func()) {
	s.mu.Lock()
	t := s.table
	s.mu.Unlock()
	if t == nil {
		return
	}
	random := rand.New(rand.NewPCG(r.options.seed, 2))
	some := func(names []string) string {
		if len(names) == 0 {
			return "" // nobody: what is done to it does nothing
		}
		return names[random.IntN(len(names))]
	}
	for {
		select {
		case key := <-t.keys:
			var err error
			switch key {
			case 'k':
				err = r.fleet.Kill(some(r.fleet.Active()))
			case 'd':
				r.fleet.Drain(some(r.fleet.Active()))
			case 'a':
				_, err = r.fleet.Add(firstVersion)
			case 'p':
				if paused := r.fleet.Stopped(); len(paused) > 0 {
					err = r.fleet.Resume(paused[0])
				} else {
					err = r.fleet.Pause(some(r.fleet.Active()))
				}
			case 'q':
				quit()
			}
			if err != nil {
				s.note("%v", err)
			}
		case <-ctx.Done():
			return
		}
	}
}

// ctrlC is what the key sends while the terminal is raw.
const ctrlC = 3

// readKeys passes keys on until the process ends; a read from a terminal cannot be interrupted.
func readKeys(keys chan<- byte, interrupts chan<- struct{}) {
	b := make([]byte, 1)
	for {
		n, err := os.Stdin.Read(b)
		if err != nil {
			return
		}
		if n == 0 {
			continue
		}
		if b[0] == ctrlC {
			select {
			case interrupts <- struct{}{}:
			default:
			}
			continue
		}
		select {
		case keys <- b[0]:
		default: // nobody listens any more
		}
	}
}
