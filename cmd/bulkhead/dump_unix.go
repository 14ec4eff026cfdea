//go:build unix

package main

import (
	"bytes"
	"runtime/pprof"
)

// maxDump is the maximum size of a dump, in bytes: it must fit into the log queue.
const maxDump = 256 << 10

// goroutineDump returns the stacks of all goroutines, identical ones grouped: functions, files and lines, without the
// values of arguments, which could leak secrets.
func goroutineDump() []byte {
	out := bytes.NewBufferString("bulkhead: dump of all goroutines\n")
	if err := pprof.Lookup("goroutine").WriteTo(out, 1); err != nil {
		out.WriteString(err.Error() + "\n") // writes to a buffer do not fail
	}
	text := out.Bytes()
	if len(text) > maxDump {
		text = append(text[:maxDump], "\n[cut]"...)
	}
	return append(text, "bulkhead: end of the dump\n"...)
}
