package instance_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/instance"
)

const tellEnv = "TENURE_TEST_TELL_IDENTITY"

func TestMain(m *testing.M) {
	if os.Getenv(tellEnv) != "" {
		fmt.Print(instance.Process())
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Neither the name of the host nor the number of a process is an identity: containers of one host often share both.
// Failure F11.
func TestTwoStartsOnOneHostAreTwoInstances(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 2 {
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), tellEnv+"=1")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		id := string(out)
		random := id[strings.LastIndexByte(id, ':')+1:]
		if err := instance.ID(id).Check(); err != nil || len(random) != 32 || seen[random] {
			t.Errorf("identity %q after %v: %v", id, seen, err)
		}
		seen[random] = true
	}
	for range 1000 {
		id := string(instance.New())
		random := id[strings.LastIndexByte(id, ':')+1:]
		if seen[random] {
			t.Fatalf("%q twice", random)
		}
		seen[random] = true
	}
}
