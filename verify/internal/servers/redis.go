package servers

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// Redis starts a redis-server without persistence and returns its address.
func Redis(tb testing.TB) string {
	tb.Helper()
	bin, err := exec.LookPath("redis-server")
	if err != nil {
		missing(tb, "redis-server")
	}
	port := start(tb, "redis-server", func(port int) error {
		cmd := exec.Command(bin, "--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", tb.TempDir(), "--save", "", "--appendonly", "no")
		tied(cmd)
		return launch(tb, cmd, func(log string) bool { return strings.Contains(log, "Ready to accept connections") })
	})
	return fmt.Sprintf("127.0.0.1:%d", port)
}
