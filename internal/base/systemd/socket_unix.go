//go:build unix

package systemd

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// checkListening returns an error unless f is a socket that accepts connections.
func checkListening(f *os.File) error {
	listening, err := unix.GetsockoptInt(int(f.Fd()), unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
	switch {
	case err != nil:
		return fmt.Errorf("what systemd has passed is no socket: %w", err)
	case listening == 0:
		return errors.New("the socket that systemd has passed does not accept connections: set ListenStream= and Accept=no in the socket unit")
	}
	return nil
}
