// Package rivals has what the toolkit is measured beside: other libraries, at their defaults and at their best
// setting, and the least that one would write by hand for the same work.
package rivals
