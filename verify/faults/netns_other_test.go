//go:build !linux

package faults

import "testing"

func namespacePartition(t *testing.T) *fleet {
	t.Skip("network namespaces are Linux's")
	return nil
}
