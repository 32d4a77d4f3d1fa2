package main

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/tenure-go/tenure/lease"
)

//go:embed feeds.txt
var defaultFeeds string

// digestKey is the singleton job beside the catalogue.
const digestKey = "sample/digest"

// mostWorkloads bounds a catalogue: beyond it one machine spends its time on witnessing.
const mostWorkloads = 10_000

// readCatalogue reads one key a line. Blank lines and lines that begin with # are left out.
func readCatalogue(name string, r io.Reader) ([]string, error) {
	var keys []string
	seen := map[string]int{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		key := strings.TrimSpace(lines.Text())
		if key == "" || strings.HasPrefix(key, "#") {
			continue
		}
		if first, twice := seen[key]; twice {
			return nil, fmt.Errorf("catalogue %s: line %d repeats %q of line %d: every workload needs a key of its own", name, n, key, first)
		}
		if err := checkWorkload(key); err != nil {
			return nil, fmt.Errorf("catalogue %s: line %d: %w", name, n, err)
		}
		seen[key] = n
		keys = append(keys, key)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("catalogue %s: a line is longer than %d bytes: write one key a line", name, bufio.MaxScanTokenSize)
	case err != nil:
		return nil, fmt.Errorf("catalogue %s: %w", name, err)
	case len(keys) == 0:
		return nil, fmt.Errorf("catalogue %s is empty: write one key a line", name)
	case len(keys) > mostWorkloads:
		return nil, fmt.Errorf("catalogue %s has %d workloads: at most %d", name, len(keys), mostWorkloads)
	}
	return keys, nil
}

func checkWorkload(key string) error {
	if key == digestKey {
		return fmt.Errorf("%q is the sample's own singleton job: choose another key", key)
	}
	return lease.CheckUserKey(key)
}

// openCatalogue reads the catalogue that the flags ask for.
func openCatalogue(file string, generate int) ([]string, error) {
	switch {
	case file != "":
		f, err := os.Open(file)
		if err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		defer f.Close()
		return readCatalogue(file, f)
	case generate > 0:
		keys := make([]string, generate)
		for i := range keys {
			keys[i] = fmt.Sprintf("feed-%05d", i+1)
		}
		return keys, nil
	}
	return readCatalogue("feeds.txt", strings.NewReader(defaultFeeds))
}
