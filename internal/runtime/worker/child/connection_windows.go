package child

import (
	"io"
	"os"
)

// connectionFiles are the descriptors of the connection. The standard ones are not listed.
var connectionFiles []int

// connection returns the connection to the host: the standard input and output, which nothing else uses.
func connection() io.ReadWriter {
	return struct {
		io.Reader
		io.Writer
	}{os.Stdin, os.Stdout}
}
