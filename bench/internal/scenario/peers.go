package scenario

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// peers is the process of those peers whose dependencies are large: etcd and client-go.
type peers struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Scanner
}

// Request is a line of JSON to the process of peers.
type Request struct {
	Op  string        `json:"op"`
	N   int           `json:"n"`
	TTL time.Duration `json:"ttl"`
}

// Answer is a line of JSON from it: milliseconds, or an error.
type Answer struct {
	Took  []float64 `json:"took"`
	Error string    `json:"error"`
}

// startPeers starts the process; nil where it could not be built.
func (e *Env) startPeers() (*peers, error) {
	var err error
	if e.peers == "" && e.Build != nil {
		e.Say("  building etcd and client-go")
		if e.peers, err = e.Build(); err != nil {
			e.Missing = err.Error()
		}
		e.Build = nil
	}
	if e.peers == "" {
		return nil, nil
	}
	p := &peers{cmd: exec.Command(e.peers)}
	p.cmd.Stderr = os.Stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewScanner(out)
	p.out.Buffer(nil, 16<<20)
	return p, p.cmd.Start()
}

// stop ends it: it leaves at the end of its input.
func (p *peers) stop() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}

// ask has it do the work n times.
func (p *peers) ask(op string, n int, ttl time.Duration) ([]float64, error) {
	line, err := json.Marshal(Request{op, n, ttl})
	if err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return nil, err
	}
	if !p.out.Scan() {
		return nil, fmt.Errorf("the peers' process ended: %w", errors.Join(p.out.Err(), io.ErrUnexpectedEOF))
	}
	var a Answer
	if err := json.Unmarshal(p.out.Bytes(), &a); err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Took, nil
}
