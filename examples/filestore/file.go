//go:build unix

package filestore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// Store is a handle on the fleet in one file. It is safe for concurrent use and keeps nothing open.
type Store struct{ path string }

// Create makes the file of a new fleet. A fleet that exists stays as it is: the error then matches fs.ErrExist.
func Create(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString("{}")
	return errors.Join(err, f.Sync(), f.Close())
}

// Open returns a handle on a fleet that was created. It does no I/O but to look whether it is there.
func Open(path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("filestore: %w; make the fleet with Create", err)
	}
	return &Store{path}, nil
}

// update is the atomic step: f sees all that the store knows, at one moment of the store's clock, and what it leaves
// is written before update returns. Where invalid or f returns an error, nothing is changed.
func (s *Store) update(ctx context.Context, invalid error, f func(d *data) error) error {
	if invalid != nil {
		return invalid
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	d, err := s.load()
	if err != nil {
		return unavailable(err)
	}
	if err := f(d); err != nil {
		return err
	}
	return unavailable(s.save(d))
}

// lock waits for the file's lock without outstaying ctx: a process may be suspended while it has it.
func (s *Store) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.OpenFile(s.path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, unavailable(err)
	}
	for ctx.Err() == nil {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = f.Close() }, nil // closing it unlocks it
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(unavailable(err), f.Close())
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
		}
	}
	return nil, errors.Join(unavailable(ctx.Err()), f.Close())
}

func (s *Store) load() (*data, error) {
	text, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	d := newData()
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	d.Clock = max(d.Clock, time.Now().UnixMicro()) // a clock that was set back stands still until it has caught up
	d.sweep()
	return d, nil
}

// save replaces the file in one step, and returns when it is on the disk.
func (s *Store) save(d *data) error {
	text, err := json.Marshal(d)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(s.path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err := errors.Join(err, sync(f), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	return errors.Join(sync(dir), dir.Close())
}

// sync is a variable for the benefit of tests, whose files nobody will need after a power cut.
var sync = (*os.File).Sync

// unavailable says that the outcome of a call is unknown; nil stays nil.
func unavailable(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("the fleet's file is gone: %w", err)
	}
	return fmt.Errorf("filestore: %w: %w", lease.ErrUnavailable, err)
}
