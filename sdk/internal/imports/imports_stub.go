//go:build !wasip1

package imports

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Host replaces the host in a process that is not a module. Package sdktest sets one.
type Host struct {
	Call func(request []byte) []byte
	Log  func(level int32, line string)
}

var host atomic.Pointer[Host]

// SetHost makes h the host until the next call of SetHost. If h is nil, there is no host.
func SetHost(h *Host) { host.Store(h) }

// HostCall passes the request to the host that SetHost set. Without a host, the operation is unavailable.
func HostCall(request []byte) []byte {
	if h := host.Load(); h != nil && h.Call != nil {
		return h.Call(request)
	}
	return []byte(`{"error":{"code":"unavailable","message":"no host: the process is not a module, and the test has not set a fake host (see package sdktest)"}}`)
}

// Log passes the line to the host that SetHost set. Without a host, it writes the line to stderr.
func Log(level int32, line string) {
	if h := host.Load(); h != nil && h.Log != nil {
		h.Log(level, line)
		return
	}
	fmt.Fprintln(os.Stderr, line)
}
