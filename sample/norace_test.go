//go:build !race

package main

const testTTL = "2s"
