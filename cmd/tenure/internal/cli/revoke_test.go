package cli

import (
	"strings"
	"testing"
)

// The question says what a revocation does: the command of a "tenure run" may go on until its deadline.
func TestConsequence(t *testing.T) {
	t.Parallel()
	if text := consequence(workload{Info: runInfo + "./report.sh"}); !strings.Contains(text, "drain signal") || !strings.Contains(text, "deadline") {
		t.Errorf("of tenure run: %q", text)
	}
	if text := consequence(workload{Info: "planned here"}); !strings.Contains(text, "without a drain") {
		t.Errorf("of an application: %q", text)
	}
}
