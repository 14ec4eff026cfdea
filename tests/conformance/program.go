package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

var (
	// servingAt is the line of the program's log with the URL of the MCP endpoint.
	servingAt = regexp.MustCompile(`serving MCP over HTTP: url=(\S+)`)
	// startTime bounds the time until that line.
	startTime = time.Minute
)

// startProgram serves by a program, as it is released, in place of this process. It follows its config by itself.
func (s *server) startProgram(ctx context.Context, program, work string, log io.Writer) error {
	ctx, s.end = context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, program, "serve", "--http", "127.0.0.1:0", "--config", s.config, "--project", work, "--log-level", "debug")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Join(work, "state"))
	output, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	serving := make(chan string, 1)
	go func() {
		asks := listener(s.asked)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			line := append(lines.Bytes(), '\n')
			if match := servingAt.FindSubmatch(line); match != nil {
				serving <- string(match[1])
			}
			_, _ = asks.Write(line)
			_, _ = log.Write(line)
		}
		err := cmd.Wait()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && ctx.Err() != nil {
			err = nil // by the signal
		}
		s.ended <- err
	}()
	select {
	case s.url = <-serving:
		return nil
	case err := <-s.ended:
		return errors.Join(errors.New("the program ended before it served"), err)
	case <-time.After(startTime):
		s.end()
		return errors.Join(fmt.Errorf("the program does not serve after %v", startTime), <-s.ended)
	}
}

// endsStream is the scenario for which the server has to end the connection of a stream: only the hook of httpserver for tests causes that.
const endsStream = "server-sse-polling"

// withoutHook returns the results without the scenario that a program cannot pass.
func withoutHook(r result) result {
	for i, one := range r.scenarios {
		if one.name == endsStream {
			r.scenarios = slices.Delete(r.scenarios, i, i+1)
			r.suite.checks -= r.suite.hooked
			break
		}
	}
	return r
}
