// Package scenario has the measurements: each puts the toolkit, through its public API, beside its peers or beside a
// floor written by hand, on the same servers, and judges its figures against what must hold.
package scenario
