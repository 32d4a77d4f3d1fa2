package suite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Outcome of one check.
type Outcome string

// The outcomes.
const (
	Passed  Outcome = "passed"
	Failed  Outcome = "failed"
	Skipped Outcome = "skipped"
)

// Result is one check that has ended.
type Result struct {
	// ID is the letter and number of the check, Name its sentence in short.
	ID      string  `json:"id"`
	Name    string  `json:"name"`
	Outcome Outcome `json:"outcome"`
	Seconds float64 `json:"seconds"`
	// Output is what a failed or skipped check said.
	Output []string `json:"output,omitempty"`
}

// Run runs the suite and calls f for each check that has ended. It returns an error where the suite itself could not
// run to its end; failed checks are none.
func Run(ctx context.Context, spec Spec, f func(Result)) error {
	input, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, Argument)
	cmd.Stdin = bytes.NewReader(input)
	cmd.WaitDelay = 5 * time.Second
	var trouble tail
	cmd.Stderr = &trouble
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	r := &reader{f: f, output: map[string][]string{}}
	r.read(out)
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case !r.ended && err != nil:
		return fmt.Errorf("the suite ended before its end (%w): %s", err, strings.Join(append(r.rest, trouble.String()), " "))
	case r.checks == 0 && r.broken:
		return errors.New(strings.Join(r.output[top], " "))
	}
	return nil
}

// tail keeps the first part of what a process complains about.
type tail struct{ bytes.Buffer }

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	const most = 4096
	if room := most - t.Len(); room > 0 {
		t.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// reader understands what package testing prints in its mode for machines: lines that begin with the byte 0x16 tell what
// happens, the others are output of the check that was named last.
type reader struct {
	f      func(Result)
	output map[string][]string
	name   string
	checks int
	ended  bool // the top test has reported
	broken bool // and failed
	rest   []string
}

var (
	endLine  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (\S+) \(([0-9.]+)s\)$`)
	nameLine = regexp.MustCompile(`^=== (RUN|NAME|PAUSE|CONT)\s+(\S*)$`)
)

func (r *reader) read(out io.Reader) {
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := strings.TrimLeft(lines.Text(), "\x16")
		if m := nameLine.FindStringSubmatch(line); m != nil {
			r.name = m[2]
		} else if m := endLine.FindStringSubmatch(line); m != nil {
			r.end(m[1], m[2], m[3])
		} else if text := strings.TrimSpace(line); text != "" && r.name != "" {
			r.output[r.name] = append(r.output[r.name], text)
		} else if text != "" && text != "PASS" && text != "FAIL" {
			r.rest = append(r.rest, text)
		}
	}
	_, _ = io.Copy(io.Discard, out) // a line that is too long ends the reading, not the suite
}

func (r *reader) end(verdict, name, took string) {
	if name == top {
		r.ended, r.broken, r.name = true, verdict == "FAIL", ""
		return
	}
	check, ok := strings.CutPrefix(name, top+"/")
	if !ok || strings.Contains(check, "/") {
		return
	}
	id, title, _ := strings.Cut(check, "_")
	res := Result{ID: id, Name: strings.ReplaceAll(title, "_", " "), Outcome: map[string]Outcome{"PASS": Passed, "FAIL": Failed, "SKIP": Skipped}[verdict]}
	res.Seconds, _ = strconv.ParseFloat(took, 64) // the expression admits numbers only
	if res.Outcome != Passed {
		res.Output = slices.Clone(r.output[name])
	}
	delete(r.output, name)
	r.checks++
	r.f(res)
}
