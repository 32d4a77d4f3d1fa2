package coordinator

import (
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// holds says why nothing may be placed now; empty: it may.
func (p *planner) holds(f facts, in assigner.Input, now time.Duration) string {
	lost := slices.Concat(f.lost, slices.DeleteFunc(slices.Clone(p.ledger.lost), func(a absent) bool {
		return slices.ContainsFunc(in.Instances, func(i assigner.Instance) bool { return i.ID == a.id })
	}))
	if missing, until := p.guard.check(now, lost, len(f.members)); until > 0 {
		p.agenda.by(until)
		return fmt.Sprintf("mass loss: %d of %d members vanished within %v, which is rather a fault of the store than their death; waiting for %v",
			missing, missing+len(f.members), p.guard.window, p.cfg.LossWait)
	}
	return p.coldStart(in, now)
}

// coldStart says that a fleet which starts from nothing waits for more instances.
func (p *planner) coldStart(in assigner.Input, now time.Duration) string {
	present := 0
	for _, i := range in.Instances {
		if i.Phase == assigner.Active {
			present++
		}
		if w, has := p.ledger.sets[i.ID]; has && len(w.keys) > 0 && !w.doubtful {
			p.warm = true
		}
	}
	for _, w := range in.Workloads {
		p.warm = p.warm || in.Owners[w.Key] != ""
	}
	if p.cold == 0 {
		p.cold = max(now, 1)
	}
	until := p.cold + p.cfg.ExpectedWait
	if p.warm || present >= p.cfg.ExpectedInstances || now >= until {
		p.warm = true
		return ""
	}
	p.agenda.by(until)
	return fmt.Sprintf("cold start: %d of %d expected instances are here; waiting for the others for at most %v", present, p.cfg.ExpectedInstances, p.cfg.ExpectedWait)
}

// guard tells a mass loss from single deaths.
type guard struct {
	cfg    PlannerConfig
	window time.Duration // one HeartbeatTTL
	until  time.Duration // of the hold; 0 while there is none
	missed map[instance.ID]bool
}

// check returns how many vanished and until when that is waited out; 0 where it is not.
func (g *guard) check(now time.Duration, lost []absent, living int) (missing int, until time.Duration) {
	recent, latest := 0, time.Duration(0)
	for _, a := range lost {
		if now-a.at < g.window || g.missed[a.id] {
			recent++
			latest = max(latest, a.at)
		}
	}
	if g.cfg.LossPercent < 0 || recent < g.cfg.LossLeast || 100*recent <= g.cfg.LossPercent*(living+recent) {
		g.until, g.missed = 0, nil // few, or most of them are back
		return 0, 0
	}
	g.until = latest + g.cfg.LossWait
	if now >= g.until {
		g.missed = nil
		return 0, 0
	}
	if g.missed == nil {
		g.missed = map[instance.ID]bool{}
	}
	for _, a := range lost {
		if now-a.at < g.window {
			g.missed[a.id] = true
		}
	}
	return recent, g.until
}
