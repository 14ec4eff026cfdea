package build

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	// maxOutput is how much of what a program printed its error repeats: the end says what went wrong.
	maxOutput = 8 << 10
	// grace is how long a program that was interrupted may clean up.
	grace = 5 * time.Second
)

// run runs a program in the folder dir, with the process's own environment and env, in a process group of
// its own, which a cancelled ctx ends as a whole. What it prints goes to the new file output: a pipe
// would be held open by whatever the program leaves running. The end of it is in the error.
func run(ctx context.Context, dir, output string, env, command []string) error {
	printed, err := os.OpenFile(output, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer printed.Close()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, printed, printed
	cmd.Env = append(cmd.Environ(), env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// An interrupt lets a program such as make take away what is half done.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.WaitDelay = grace
	err = cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // whoever is left of the group; mostly nobody is
	}
	if err == nil {
		return nil
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
		return err // it was never run
	}
	text, readErr := tail(printed)
	if readErr != nil {
		return errors.Join(err, readErr)
	}
	if text == "" {
		return fmt.Errorf("%w, and it printed nothing", err)
	}
	return fmt.Errorf("%w:\n%s", err, text)
}

// tail is the end of a file as indented text: whole lines, where they are short enough.
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

// indent sets text off from the line that it belongs to.
func indent(text string) string {
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}

func commandLine(command []string) string { return strings.Join(command, " ") }
