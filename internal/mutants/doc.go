// Package mutants breaks the engines on purpose, to show that their tests can fail.
//
// A mutant is one edit of one source file, applied through the go command's -overlay, so that
// neither the code nor its tests carry switches for it. Each must turn the tests named beside it
// red. An edit that no longer fits the source is an error as well: the list follows the code.
package mutants
