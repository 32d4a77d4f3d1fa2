package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

// Child is what a process of a scenario is told at its start, as one line of JSON on its standard input.
type Child struct {
	Role      string // "idle", "waiters" or "fleet"
	Addr      string // of the Redis server
	Fleet     string
	Workloads int
	// Of the role idle: for how long it is watched.
	Seconds int
	// Of the role fleet: its instances, by number, and how many the whole fleet has.
	First, Count, Instances int
}

// RunChild is the main function of such a process. It ends with its input.
func RunChild(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	if !lines.Scan() {
		return fmt.Errorf("a child reads its task from standard input: %w", errors.Join(lines.Err(), io.ErrUnexpectedEOF))
	}
	var c Child
	if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
		return err
	}
	switch c.Role {
	case "idle":
		return c.idle(ctx, json.NewEncoder(out))
	case "waiters":
		c.waiters(json.NewEncoder(out))
	case "fleet":
		return c.fleet(ctx, lines, json.NewEncoder(out))
	}
	return fmt.Errorf("no child has the role %q", c.Role)
}

// process is a child as its parent sees it.
type process struct {
	cmd *exec.Cmd
	in  *json.Encoder
	end io.Closer
	out *json.Decoder
}

// spawn starts this program as a child.
func (e *Env) spawn(c Child) (*process, error) {
	p := &process{cmd: exec.Command(e.Self, "-child")}
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.in, p.end, p.out = json.NewEncoder(in), in, json.NewDecoder(bufio.NewReaderSize(out, 1<<20))
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	return p, p.in.Encode(c)
}

// stop closes its input and waits for its end.
func (p *process) stop() error {
	_ = p.end.Close()
	return p.cmd.Wait()
}
