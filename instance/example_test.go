package instance_test

import (
	"fmt"

	"github.com/tenure-go/tenure/instance"
)

// How a process describes itself to its fleet. The ID is unique per start; the rest is for planning and for people.
func Example() {
	self := instance.Instance{
		ID:       instance.Process(),
		Zone:     "eu-1a",
		Version:  "2026-11-30",
		Address:  "http://10.0.3.17:8080",
		Capacity: 4,
		Labels:   map[string]string{"disk": "fast"},
	}
	fmt.Println(self.Check(), self.ID == instance.Process(), self.ID == instance.New())

	self.Capacity = -1
	fmt.Println(self.Check())
	// Output:
	// <nil> true false
	// tenure: invalid instance capacity -1: must be between 0 (meaning 1) and 1000000
}
