//go:build !linux

package forward

import (
	"errors"
	"net"
)

func isTooLong(error) bool { return false }

// sendFile is for journald, which only Linux has.
func sendFile(*net.UnixConn, []byte) error { return errors.ErrUnsupported }
