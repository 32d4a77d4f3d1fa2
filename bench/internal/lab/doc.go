// Package lab compares contenders that do the same work: in alternation, one at a time, several rounds, and as
// ratios within a round, since only those carry over from one machine to another.
package lab
