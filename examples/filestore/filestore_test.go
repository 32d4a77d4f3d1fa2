//go:build unix

package filestore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/storetest"
)

func TestMain(m *testing.M) {
	sync = func(*os.File) error { return nil }
	os.Exit(m.Run())
}

// The conformance suite: what makes it a store that can be trusted.
func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Config{
		Open: func(t *testing.T) (a, b storetest.Store) {
			path := filepath.Join(t.TempDir(), "fleet.json")
			if err := Create(path); err != nil {
				t.Fatal(err)
			}
			return open(t, path), open(t, path)
		},
		Unit:    300 * time.Millisecond,
		Without: []storetest.Capability{storetest.Lapses}, // metrics do without
	})
}

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func fleet(t *testing.T) (*Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleet.json")
	if err := Create(path); err != nil {
		t.Fatal(err)
	}
	return open(t, path), path
}

func TestSetUp(t *testing.T) {
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	_, path := fleet(t)
	if err := Create(path); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

// A fleet whose file is gone must not begin anew under those who hold something.
func TestFileIsGone(t *testing.T) {
	s, path := fleet(t)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenSession(t.Context(), lease.NewSession("a", time.Second)); !errors.Is(err, lease.ErrUnavailable) {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("{nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.OpenSession(t.Context(), lease.NewSession("a", time.Second)); !errors.Is(err, lease.ErrUnavailable) {
		t.Error(err)
	}
}

// A process that is suspended inside a call costs the others their calls, not more than their patience.
func TestLockIsHeldForLong(t *testing.T) {
	s, _ := fleet(t)
	unlock, err := s.lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := s.Members(ctx); !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	unlock()
	if _, err := s.Members(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestClockSetBack(t *testing.T) {
	s, path := fleet(t)
	ahead := time.Now().Add(time.Hour).UnixMicro()
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"Clock":%d}`, ahead), 0o600); err != nil {
		t.Fatal(err)
	}
	session := lease.NewSession("a", time.Second)
	if _, err := s.OpenSession(t.Context(), session); err != nil {
		t.Fatal(err)
	}
	g, err := s.Acquire(t.Context(), session, []string{"k"})
	if err != nil || len(g.Leases) != 1 || g.Leases[0].Token < uint64(ahead) {
		t.Error(g, err)
	}
}
