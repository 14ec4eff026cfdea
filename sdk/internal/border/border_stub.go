//go:build !wasip1

package border

import (
	"fmt"
	"os"
	"sync/atomic"
)

// Host is what answers natively, where there is no host: package sdktest sets one.
type Host struct {
	Call func(request []byte) []byte
	Log  func(level int32, line string)
}

var host atomic.Pointer[Host]

// SetHost puts h in the host's place until it is replaced; nil takes it away.
func SetHost(h *Host) { host.Store(h) }

// HostCall passes the operation to the host that SetHost set; without one it is unavailable.
func HostCall(request []byte) []byte {
	if h := host.Load(); h != nil && h.Call != nil {
		return h.Call(request)
	}
	return []byte(`{"error":{"code":"unavailable","message":"not inside a host, and the test gave none"}}`)
}

// Log passes the line to the host that SetHost set; without one it goes to stderr.
func Log(level int32, line string) {
	if h := host.Load(); h != nil && h.Log != nil {
		h.Log(level, line)
		return
	}
	fmt.Fprintln(os.Stderr, line)
}
