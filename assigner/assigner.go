package assigner

// Assigner (tenure.Assigner) decides which instance should try to run which workload.
//
// Plan is a pure function of its input: no clock, no randomness, no I/O, no state kept between
// calls. The same input, in whatever order its slices are, gives the same plan in every process
// and on every architecture. Implementations are safe for concurrent use and never change the input.
//
// An error means that the input cannot be planned at all: it matches lease.ErrInvalid and names
// what is wrong (a duplicate key, an empty ID). A fleet without a usable instance is no error: the
// plan is empty and says of every workload why it could not be placed.
type Assigner interface {
	Plan(in Input) (Plan, error)
}

// Indexed is implemented by every assigner of this package: it plans from an Index, which keeps
// the sorted and hashed input between plans.
type Indexed interface {
	Assigner
	// PlanIndex is Plan for an input that was indexed before. It reads x, and may refresh what x
	// caches, so calls that share an Index must not run at the same time.
	PlanIndex(x *Index) (Plan, error)
	// HeedsOwners reports whether the targets depend on Input.Owners. If so, all who plan must see
	// the same owners; if not, everyone may plan for himself.
	HeedsOwners() bool
}

// Func makes an Assigner of a function. [Assemble] helps such a function to make a whole plan.
type Func func(in Input) (Plan, error)

// Plan calls f.
func (f Func) Plan(in Input) (Plan, error) { return f(in) }
