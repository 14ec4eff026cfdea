package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// maxOutput bounds, in bytes, the part of a program's output that its error quotes. It is the end of the output, where
	// most programs state the cause.
	maxOutput = 8 << 10
	// grace is the default of Options.Grace.
	grace = 5 * time.Second
)

// run runs a program in dir with the environment of the process and env. When ctx is cancelled, the program and all programs
// that it has started get the time grace to clean up, and are then killed. Their output goes to the new file output, and not to a
// pipe, which background processes of the program would keep open. The error quotes the end of the output.
func run(ctx context.Context, dir, output string, env, command []string, grace time.Duration) error {
	printed, err := os.OpenFile(output, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer printed.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, printed, printed
	cmd.Env = append(cmd.Environ(), env...)
	cmd.WaitDelay = grace
	err = runGroup(ctx, cmd)
	if err == nil {
		return nil
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err // the command was not started
	}
	text, readErr := tail(printed)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if text == "" {
		return fmt.Errorf("%w, and it printed nothing", err)
	}
	return &outputError{err, text}
}

// outputError is the error of a program that printed something.
type outputError struct {
	error
	text string // indented
}

func (e *outputError) Error() string { return fmt.Sprintf("%v:\n%s", e.error, e.text) }

func (e *outputError) Unwrap() error { return e.error }

// printed returns what the program of an error of run printed, as one line.
func printed(err error) string {
	if output := (*outputError)(nil); errors.As(err, &output) {
		return strings.Join(strings.Fields(output.text), " ")
	}
	return "it printed nothing"
}

// tail returns the last maxOutput bytes of a file, indented, without an incomplete first line.
func tail(f *os.File) (string, error) {
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return "", err
	}
	start := max(0, size-maxOutput)
	buf := make([]byte, size-start)
	if _, err := f.ReadAt(buf, start); err != nil && err != io.EOF {
		return "", err
	}
	text := strings.ToValidUTF8(string(buf), "\uFFFD")
	if start > 0 {
		if _, rest, ok := strings.Cut(text, "\n"); ok {
			text = rest
		}
		text = "…\n" + text
	}
	return indent(text), nil
}

// indent indents text below the line that introduces it.
func indent(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

func commandLine(command []string) string { return strings.Join(command, " ") }
