// Package secret runs the commands that print secret values, such as those of password managers, and keeps the values for a short time in memory.
// Use Commands.Value.
package secret

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Bounds of a command.
const (
	maxTime  = time.Minute // a password manager may ask its user for consent
	maxValue = 8 << 10     // bytes
	maxKept  = 256         // values

	// kept is the time for which a value is used again, so that a plugin of several workers, or of many requests, does not make the password
	// manager ask each time.
	kept = 5 * time.Minute
)

// Commands runs commands. Its zero value is ready to use. It is safe for concurrent use.
type Commands struct {
	mu     sync.Mutex
	values map[string]*value // by the command

	now func() time.Time // nil: time.Now
}

// value is the output of a command.
type value struct {
	running chan struct{} // lock: contains an element while the command runs
	text    string
	until   time.Time // zero if there is none
}

// Value returns what a command prints to its standard output, without the line break at the end. Neither the value nor anything else that the
// command prints is part of an error. A second call for the same command waits for the first one.
func (c *Commands) Value(ctx context.Context, command []string) (string, error) {
	v := c.of(command)
	select {
	case v.running <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-v.running }()
	if c.time().Before(v.until) {
		return v.text, nil
	}
	v.text, v.until = "", time.Time{}
	text, err := run(ctx, command)
	if err != nil {
		return "", err
	}
	v.text, v.until = text, c.time().Add(kept)
	return text, nil
}

func (c *Commands) time() time.Time {
	if c.now == nil {
		return time.Now()
	}
	return c.now()
}

// of returns the value of a command. If there are too many, it forgets all of them.
func (c *Commands) of(command []string) *value {
	key := strings.Join(command, "\x00") // no argument contains a NUL byte
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.values[key]
	if v != nil {
		return v
	}
	if c.values == nil || len(c.values) >= maxKept {
		c.values = map[string]*value{}
	}
	v = &value{running: make(chan struct{}, 1)}
	c.values[key] = v
	return v
}

// run runs a command, with the rights and the environment of the host.
func run(ctx context.Context, command []string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, maxTime, fmt.Errorf("its command did not end within %s", maxTime))
	defer cancel()
	program, err := exec.LookPath(command[0])
	if err != nil {
		return "", errors.New("the program of its command was not found, or cannot be run: write its absolute path")
	}
	cmd := exec.CommandContext(ctx, program, command[1:]...)
	cmd.Args[0] = command[0]
	if cmd.Dir, err = os.UserHomeDir(); err != nil { // not the working directory, which may be that of an untrusted project
		cmd.Dir = filepath.Dir(program)
	}
	var out output
	out.full = cancel
	cmd.Stdout = &out
	cmd.WaitDelay = time.Second // a child of the command may keep its output open
	ownGroup(cmd)
	err = cmd.Run()
	exited := (*exec.ExitError)(nil)
	switch {
	case out.exceeded:
		return "", fmt.Errorf("its command prints more than %d bytes", maxValue)
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.As(err, &exited):
		return "", fmt.Errorf("its command failed (%s): run it in a terminal", exited.ProcessState)
	case errors.Is(err, exec.ErrWaitDelay):
		_ = cmd.Cancel() // kills what is left of the group
		return "", errors.New("its command left a process that keeps its output open")
	case err != nil:
		return "", errors.New("its command cannot be started: run it in a terminal")
	}
	text := strings.TrimSuffix(strings.TrimSuffix(out.buffer.String(), "\n"), "\r")
	switch {
	case text == "":
		return "", errors.New("its command prints nothing")
	case strings.ContainsRune(text, 0):
		return "", errors.New("its command prints a NUL byte")
	}
	return text, nil
}

// output is a bounded buffer. It calls full when the bound is exceeded. The buffer is not embedded, since its ReadFrom has no bound.
type output struct {
	buffer   bytes.Buffer
	exceeded bool
	full     func()
}

func (o *output) Write(p []byte) (int, error) {
	if o.buffer.Len()+len(p) > maxValue+len("\r\n") {
		o.exceeded = true
		o.full()
		return 0, errors.New("too long")
	}
	return o.buffer.Write(p)
}
