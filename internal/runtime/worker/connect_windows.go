package worker

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/windows"
)

// numberInWorker returns the worker's number of a file: an inherited handle has the same number in both processes.
func numberInWorker(_ int, file *os.File) int { return int(file.Fd()) }

// connect creates two pipes, and makes a command inherit the worker's ends, as standard input and output, and files, but no other
// handles. It returns the host's ends, and a function that closes the host's copies of the worker's ends. The caller calls the
// function after the command has been started.
func connect(cmd *exec.Cmd, files []*os.File) (ours io.ReadWriteCloser, done func(), err error) {
	in, toWorker, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	fromWorker, out, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(err, in.Close(), toWorker.Close())
	}
	cmd.Stdin, cmd.Stdout = in, out
	attributes := &syscall.SysProcAttr{HideWindow: true}
	for _, f := range files {
		handle := windows.Handle(f.Fd())
		if err := windows.SetHandleInformation(handle, windows.HANDLE_FLAG_INHERIT, windows.HANDLE_FLAG_INHERIT); err != nil {
			return nil, nil, errors.Join(err, in.Close(), toWorker.Close(), fromWorker.Close(), out.Close())
		}
		attributes.AdditionalInheritedHandles = append(attributes.AdditionalInheritedHandles, syscall.Handle(handle))
	}
	cmd.SysProcAttr = attributes
	return &pipes{fromWorker, toWorker}, func() { _, _ = in.Close(), out.Close() }, nil
}

// pipes is the host's end of the connection.
type pipes struct{ in, out *os.File }

// Read implements io.Reader.
func (p *pipes) Read(buf []byte) (int, error) { return p.in.Read(buf) }

// Write implements io.Writer.
func (p *pipes) Write(data []byte) (int, error) { return p.out.Write(data) }

// Close closes the pipe to the worker. The worker then ends, which ends a Read. The pipe from the worker is closed in the
// background, since closing it waits for the Read.
func (p *pipes) Close() error {
	err := p.out.Close()
	go func() { _ = p.in.Close() }() // the pipe is only read, so no data is lost
	return err
}
