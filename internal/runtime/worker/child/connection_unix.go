//go:build unix

package child

import (
	"io"
	"os"
)

// socketFile is the descriptor of the connection to the host.
const socketFile = 3

// connectionFiles are the descriptors of the connection. The standard ones are not listed.
var connectionFiles = []int{socketFile}

// connection returns the connection to the host, which is inherited in blocking mode.
func connection() io.ReadWriter { return os.NewFile(socketFile, "host") }
