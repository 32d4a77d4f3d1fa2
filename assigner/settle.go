package assigner

// settle lowers the number of moves without touching the imbalance, as long as any exchange can.
//
// It is the cancelling of negative cycles. The nodes are instances, classes and prices. An edge
// instance -> class takes a workload of the class from the instance, and costs one move where that
// workload had been there before; class -> instance gives one, and saves a move where the instance
// had more than it was to get. instance -> price -> instance closes a chain between two instances
// whose loads may differ by one either way, at no cost. A cycle whose costs add up to less than
// zero is an exchange that saves moves; when there is none, no plan with these loads has fewer.
func (s *spread) settle() {
	for s.couldSave() {
		g := newExchange(s)
		cycle := g.negativeCycle()
		if cycle == nil {
			return
		}
		g.apply(cycle)
	}
}

// couldSave reports whether any instance is to lose something that it has.
func (s *spread) couldSave() bool {
	for k := range s.classes {
		for _, i := range s.members(int32(k)) {
			if s.want[k][i] < s.have[k][i] {
				return true
			}
		}
	}
	return false
}

// exchange is the graph of settle. Nodes: instances, then classes, then prices.
type exchange struct {
	s       *spread
	m, k    int32
	dist    []int32
	parent  []int32
	byPrice [][2][]int32 // per price: the instances that could end there, and those that could begin there
}

func newExchange(s *spread) *exchange {
	g := &exchange{s: s, m: int32(len(s.x.inst)), k: int32(len(s.classes))}
	number := map[price]int{}
	at := func(p price) int {
		p = p.reduced()
		n, ok := number[p]
		if !ok {
			n = len(g.byPrice)
			number[p] = n
			g.byPrice = append(g.byPrice, [2][]int32{})
		}
		return n
	}
	for i := range g.m {
		up := at(s.addition(i))
		g.byPrice[up][0] = append(g.byPrice[up][0], i)
		if s.load[i] > 0 {
			down := at(s.removal(i))
			g.byPrice[down][1] = append(g.byPrice[down][1], i)
		}
	}
	nodes := int(g.m+g.k) + len(g.byPrice)
	g.dist, g.parent = make([]int32, nodes), make([]int32, nodes)
	for i := range g.parent {
		g.parent[i] = none
	}
	return g
}

func (p price) reduced() price {
	a, b := p.num, p.den
	for b != 0 {
		a, b = b, a%b
	}
	return price{p.num / a, p.den / a}
}

func (g *exchange) takeCost(k, i int32) int32 {
	if g.s.want[k][i] <= g.s.have[k][i] {
		return 1
	}
	return 0
}

func (g *exchange) giveCost(k, i int32) int32 {
	if g.s.want[k][i] < g.s.have[k][i] {
		return -1
	}
	return 0
}

// negativeCycle is Bellman and Ford's search, begun everywhere at once, with a look for a cycle
// after each pass. It returns the nodes of one cycle in order, or nil.
func (g *exchange) negativeCycle() []int32 {
	for range len(g.dist) + 1 {
		if !g.pass() {
			return nil
		}
		if cycle := g.parentCycle(); cycle != nil {
			return cycle
		}
	}
	return nil
}

// pass relaxes every edge once and reports whether any distance fell.
func (g *exchange) pass() (changed bool) {
	relax := func(from, to, cost int32) {
		if d := g.dist[from] + cost; d < g.dist[to] {
			g.dist[to], g.parent[to], changed = d, from, true
		}
	}
	for k := range g.k {
		hub := g.m + k
		for _, i := range g.s.members(k) {
			if g.s.want[k][i] > 0 {
				relax(i, hub, g.takeCost(k, i))
			}
		}
		for _, i := range g.s.members(k) {
			relax(hub, i, g.giveCost(k, i))
		}
	}
	for p, sides := range g.byPrice {
		node := g.m + g.k + int32(p)
		for _, i := range sides[0] {
			relax(i, node, 0)
		}
		for _, i := range sides[1] {
			relax(node, i, 0)
		}
	}
	return changed
}

// parentCycle looks for a cycle among the parents; each such cycle is negative.
func (g *exchange) parentCycle() []int32 {
	mark := make([]int32, len(g.parent))
	for start := range g.parent {
		node := int32(start)
		for node != none && mark[node] == 0 {
			mark[node] = int32(start) + 1
			node = g.parent[node]
		}
		if node == none || mark[node] != int32(start)+1 {
			continue
		}
		cycle := []int32{node}
		for at := g.parent[node]; at != node; at = g.parent[at] {
			cycle = append(cycle, at)
		}
		for a, b := 0, len(cycle)-1; a < b; a, b = a+1, b-1 {
			cycle[a], cycle[b] = cycle[b], cycle[a]
		}
		return cycle
	}
	return nil
}

// apply carries out a cycle, as often as each of its edges keeps its cost.
func (g *exchange) apply(cycle []int32) {
	times := g.times(cycle)
	for e, from := range cycle {
		to := cycle[(e+1)%len(cycle)]
		switch hub := g.m + g.k; {
		case from < g.m && to < hub: // an instance gives one away
			g.s.want[to-g.m][from] -= times
		case to < g.m && from < hub: // an instance gets one
			g.s.want[from-g.m][to] += times
		case from < g.m: // the chain ends here: one more on this instance
			g.s.load[from] += int64(times)
		default: // the chain begins here: one less
			g.s.load[to] -= int64(times)
		}
	}
}

func (g *exchange) times(cycle []int32) int32 {
	times := int32(1<<31 - 1)
	for e, from := range cycle {
		to := cycle[(e+1)%len(cycle)]
		switch hub := g.m + g.k; {
		case from < g.m && to < hub:
			k := to - g.m
			if g.takeCost(k, from) == 1 {
				times = min(times, g.s.want[k][from])
			} else {
				times = min(times, g.s.want[k][from]-g.s.have[k][from])
			}
		case to < g.m && from < hub:
			k := from - g.m
			if g.giveCost(k, to) == -1 {
				times = min(times, g.s.have[k][to]-g.s.want[k][to])
			}
		default:
			return 1 // loads change: prices hold for one unit only
		}
	}
	return times
}
