package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// buildPeers builds the program that has etcd and client-go. They are in a module of their own outside the
// workspace: their hundred dependencies would decide the versions of everything else in it.
func buildPeers(ctx context.Context, dir string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tenure-go/tenure/bench")
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("the folder of the module bench was not found from here: %w", detailed(err))
	}
	bin := filepath.Join(dir, "peers")
	build := exec.CommandContext(ctx, "go", "build", "-o", bin, ".")
	build.Dir = filepath.Join(strings.TrimSpace(string(out)), "peers")
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("they do not build: %w: %s", err, out)
	}
	return bin, nil
}

func detailed(err error) error {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("%w: %s", err, exit.Stderr)
	}
	return err
}
