// Package systemd takes the listening socket of a systemd unit, and tells systemd the state of this process. It is used only by a
// command that was told to: an environment can be inherited from a unit of another program.
package systemd

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// Listener returns the socket that systemd has passed to this process, which no child process inherits. It succeeds once.
func Listener() (net.Listener, error) {
	files := activation.Files(true)
	defer func() {
		for _, f := range files {
			f.Close() // net.FileListener has duplicated the one that is used
		}
	}()
	switch len(files) {
	case 0:
		return nil, errors.New("systemd has passed no socket to this process ($LISTEN_FDS and $LISTEN_PID): start the service by its socket unit")
	case 1:
	default:
		return nil, fmt.Errorf("systemd has passed %d sockets, and one is served: leave one ListenStream= in the socket unit; [::]:PORT accepts IPv4, too", len(files))
	}
	if err := checkListening(files[0]); err != nil {
		return nil, err
	}
	listener, err := net.FileListener(files[0])
	if err != nil {
		return nil, fmt.Errorf("the socket that systemd has passed: %w", err)
	}
	return listener, nil
}

// State is a message to systemd.
type State string

// The states.
const (
	Ready     State = daemon.SdNotifyReady
	Reloading State = daemon.SdNotifyReloading // followed by Ready
	Stopping  State = daemon.SdNotifyStopping
)

// Notify tells systemd the state of this process, if systemd has asked for it with $NOTIFY_SOCKET.
func Notify(s State) error {
	if os.Getenv("NOTIFY_SOCKET") == "" {
		return nil
	}
	message := string(s)
	if s == Reloading {
		message += "\n" + daemon.SdNotifyMonotonicUsec() // Type=notify-reload needs the time
	}
	if _, err := daemon.SdNotify(false, message); err != nil {
		return fmt.Errorf("systemd was not told %s: %w", s, err)
	}
	return nil
}
