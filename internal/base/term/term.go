// Package term reports what an output stream can display: whether it is a terminal, whether lines can be redrawn, and how large it
// is. Start with IsTerminal and StyleOf. The package prints nothing.
package term

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"

	"golang.org/x/term"
)

// IsTerminal reports whether a stream is a terminal.
func IsTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && file != nil && term.IsTerminal(int(file.Fd()))
}

// CanRedraw reports whether w is a terminal that interprets control sequences, and that a person watches. Some build services
// allocate a terminal for the log of a build; they set the variable CI.
func CanRedraw(w io.Writer) bool {
	return os.Getenv("CI") == "" && interprets(w)
}

// interprets reports whether w is a terminal that interprets control sequences.
func interprets(w io.Writer) bool {
	if !IsTerminal(w) {
		return false
	}
	name := os.Getenv("TERM")
	if name == "dumb" || name == "" && runtime.GOOS != "windows" {
		return false
	}
	return enableSequences(w.(*os.File))
}

// ReadPassword reads a line from a terminal, which does not show it. When ctx ends, the terminal shows input again.
func ReadPassword(ctx context.Context, terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", err
	}
	type result struct {
		line []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		read <- result{line, err}
	}()
	select {
	case r := <-read:
		return string(r.line), r.err
	case <-ctx.Done():
		return "", errors.Join(context.Cause(ctx), term.Restore(fd, before))
	}
}

// Size of a stream whose size is unknown.
const defaultWidth, defaultHeight = 80, 24

// Size returns the number of columns and rows of w.
func Size(w io.Writer) (width, height int) {
	if file, ok := w.(*os.File); ok && file != nil {
		if width, height, err := term.GetSize(int(file.Fd())); err == nil && width > 0 && height > 0 {
			return width, height
		}
	}
	return defaultWidth, defaultHeight
}
