//go:build unix

package worker

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// socketFile is the worker's descriptor of its end of the connection, the first after the standard ones.
const socketFile = 3

// firstFile is the worker's descriptor of the first of Launch.Files.
const firstFile = socketFile + 1

// numberInWorker returns the worker's descriptor of the file with the given index in Launch.Files.
func numberInWorker(index int, _ *os.File) int { return firstFile + index }

// connect creates a connection, and makes a command inherit the worker's end of it and files. It returns the host's end, and a
// function that closes the host's copy of the worker's end. The caller calls the function after the command has been started.
func connect(cmd *exec.Cmd, files []*os.File) (ours io.ReadWriteCloser, close func(), err error) {
	end, theirs, err := socketPair()
	if err != nil {
		return nil, nil, err
	}
	cmd.ExtraFiles = append([]*os.File{theirs}, files...)
	return end, func() { _ = theirs.Close() }, nil
}

// socketPair returns the host's end of a connection, and the end that a child process inherits.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no other child process may inherit an end
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(fds[1]), "worker")
	// NewFile registers a descriptor in non-blocking mode with the runtime's network poller. A goroutine that blocked in a
	// read would occupy one of the runtime's processors until the runtime notices. The worker's end is in blocking mode, since
	// the worker has little else to do.
	err = syscall.SetNonblock(fds[0], true)
	ours = os.NewFile(uintptr(fds[0]), "worker")
	if err != nil {
		return nil, nil, errors.Join(err, ours.Close(), theirs.Close())
	}
	return ours, theirs, nil
}
