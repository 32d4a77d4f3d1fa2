// Package lease is exclusive ownership of named workloads by living processes.
package lease
