package coordinator_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/internal/long"
)

// A rolling update as a Deployment does it: with surge new instances are up before old ones stop, and
// every workload moves exactly once. Without, the first leaver's workloads find no new instance.
func TestRollingUpdates(t *testing.T) {
	for _, c := range []struct {
		pods, workloads, surge, unavailable int
		most                                float64
	}{
		{long.Or(10, 5), long.Or(100, 28), 1, 0, 1}, {10, long.Or(100, 30), 0, 1, 1.25}, {long.Or(100, 6), long.Or(1000, 18), long.Or(25, 3), 0, 1},
	} {
		t.Run(fmt.Sprintf("%d workloads on %d pods, surge %d, unavailable %d", c.workloads, c.pods, c.surge, c.unavailable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, c.workloads)
				f.rollOut("1", 0, c.pods)
				after(30 * time.Second)
				before := f.starts()
				for done := 0; done < c.pods; {
					n := min(max(c.surge, c.unavailable), c.pods-done)
					if c.surge > 0 {
						f.rollOut("2", done, done+n)
						after(10 * time.Second)
					}
					for i := done; i < done+n; i++ {
						go func() { _ = f.nodes[name("1", i)].end() }()
					}
					after(5 * time.Second)
					for i := done; i < done+n; i++ {
						delete(f.nodes, name("1", i))
					}
					if c.surge == 0 {
						f.rollOut("2", done, done+n)
						after(10 * time.Second)
					}
					done += n
				}
				after(time.Minute)
				moves := float64(f.starts()-before) / float64(c.workloads)
				t.Logf("%.2f moves per workload", moves)
				if moves < 1 || moves > c.most {
					t.Errorf("%.2f moves per workload, want at most %.2f", moves, c.most)
				}
				var ids []string
				for id := range f.nodes {
					ids = append(ids, id)
				}
				f.balanced(ids...)
				f.close()
			})
		})
	}
}

func name(version string, i int) string { return fmt.Sprintf("v%s-%03d", version, i) }

// rollOut starts the instances from to to of a version.
func (f *fleet) rollOut(version string, from, to int) {
	for i := from; i < to; i++ {
		f.add(name(version, i), func(c *coordinator.Config) { c.Instance.Version = version }).start(context.Background())
	}
}

// end stops an instance and waits for it.
func (n *node) end() error {
	n.stop()
	return <-n.done
}
