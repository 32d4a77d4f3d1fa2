package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	postgresstore "github.com/tenure-go/tenure/adapters/postgres"
	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/lease"
)

// Exit statuses of all commands but run, which passes on the status of what it runs.
const (
	exitDone    = 0
	exitNo      = 1
	exitUsage   = 2
	exitStore   = 3
	exitTimeout = 4
	// Of run alone, so that they differ from what commands exit with: the numbers of sysexits.h.
	exitUnavailable = 69 // --no-wait, and the store did not answer
	exitInternal    = 70 // the command could not be guarded, or did not end; see startStatus for what could not be started
	exitHeld        = 75 // --no-wait and somebody else holds the key; --once and the lease was lost
	// Interrupted while something was waited for.
	exitInterrupted = 130
)

const exitHelp = `
Exit status:
  0    done
  1    the answer is no: nobody holds the key, a check failed, a drain was refused
  2    bad input, or the store's server refused the login; nothing was changed
  3    the store cannot be reached or used
  4    timed out
  130  interrupted
`

// statusError ends the program with a status. An empty text prints nothing.
type statusError struct {
	status int
	text   string
}

// Error is one line.
func (e *statusError) Error() string { return e.text }

// usage is bad input: one sentence that names the problem and the remedy.
func usage(format string, args ...any) error {
	return &statusError{status: exitUsage, text: fmt.Sprintf(format, args...)}
}

// fail ends with a status and a sentence.
func fail(status int, format string, args ...any) error {
	return &statusError{status: status, text: fmt.Sprintf(format, args...)}
}

// quietly ends with a status after everything was said.
func quietly(status int) error { return &statusError{status: status} }

// classify gives any error of a command its status.
func classify(err error) (status int, text string) {
	if e, ok := errors.AsType[*statusError](err); ok {
		return e.status, e.text
	}
	text = err.Error()
	if refused, ok := stores.Refused(err); ok {
		return exitUsage, refused
	}
	if forbidden, ok := stores.Forbidden(err); ok {
		return exitStore, forbidden
	}
	if bad, ok := errors.AsType[*lease.InvalidError](err); ok {
		return exitUsage, fmt.Sprintf("%s %s: %s", bad.Field, bad.Value, bad.Remedy)
	}
	if setup, ok := errors.AsType[*postgresstore.SetupError](err); ok {
		if lacking, ok := stores.Uncreated(err); ok {
			return exitStore, lacking
		}
		return exitStore, stores.Spoken(fmt.Sprintf("%s; %s", setup.Problem, setup.Remedy))
	}
	if strange, ok := stores.Strange(err); ok && errors.Is(err, lease.ErrUnavailable) {
		return exitStore, strange
	}
	switch {
	case errors.Is(err, lease.ErrInvalid):
		return exitUsage, text
	case errors.Is(err, context.Canceled):
		return exitInterrupted, "interrupted"
	case errors.Is(err, lease.ErrReadOnlyStore):
		return exitStore, "the store takes no writes; connect to the primary"
	case errors.Is(err, lease.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return exitStore, "the store does not answer; check the URL and the server (\"tenure check\"): " + root(err)
	}
	return exitNo, text
}

// mostTold is how much of an error of a driver is told, in characters: it may repeat whatever a server says.
const mostTold = 500

// root is the innermost part of an error that says more than that the outcome is unknown. A driver that tried several
// addresses, or one with and without TLS, tells of each in a line: what is said twice is told once.
func root(err error) string {
	text := err.Error()
	for _, noise := range []string{lease.ErrUnavailable.Error() + ": ", lease.ErrUnavailable.Error()} {
		text = strings.ReplaceAll(text, noise, "")
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return printable(strings.TrimSuffix(strings.Join(lines, " "), ":"), mostTold)
}

// oneLine joins lines and shows no control characters; what is quoted keeps its spaces.
func oneLine(text string) string {
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' || r == '\t' }) {
		if line = strings.Trim(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	return printable(strings.Join(lines, " "), 0)
}

// complain prints an error in one line and returns the status.
func complain(w io.Writer, err error) int {
	status, text := classify(err)
	if text != "" {
		fmt.Fprintf(w, "tenure: %s\n", oneLine(text))
	}
	return status
}
