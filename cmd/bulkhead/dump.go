package main

import (
	"bytes"
	"runtime/pprof"
)

// maxDump bounds a dump, in bytes: it takes its place in the queue of the log.
const maxDump = 256 << 10

// goroutineDump is the stacks of all goroutines, equal ones together: functions, files and lines, without the
// values of arguments, which may hold parts of secrets.
func goroutineDump() []byte {
	out := bytes.NewBufferString("bulkhead: dump of all goroutines\n")
	if err := pprof.Lookup("goroutine").WriteTo(out, 1); err != nil {
		out.WriteString(err.Error() + "\n") // of the encoder; a buffer takes everything
	}
	text := out.Bytes()
	if len(text) > maxDump {
		text = append(text[:maxDump], "\n[cut]"...)
	}
	return append(text, "bulkhead: end of the dump\n"...)
}
