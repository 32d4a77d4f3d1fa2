// Package cli is the command line of Tenure: its commands, their flags, what they print and how they exit.
//
// Every command checks all of its input before it does anything. An error is one line on standard error that names the
// problem and the remedy. With --json the answer is one JSON object on standard output (one per line where there are
// several), and errors stay where they are.
package cli
