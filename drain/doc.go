// Package drain is the graceful stop: finish what is in flight, take nothing new, then let go.
package drain
