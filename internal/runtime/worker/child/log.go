package child

import (
	"fmt"
	"io"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
)

// newLog returns a logger whose lines the host writes to its own log.
func newLog(out *wire.Writer, level hclog.Level) hclog.Logger {
	log := hclog.NewInterceptLogger(&hclog.LoggerOptions{Level: level, Output: io.Discard})
	log.RegisterSink(sink{out, level})
	return log
}

type sink struct {
	out   *wire.Writer
	level hclog.Level
}

// Bounds of a line, in bytes.
const (
	maxText  = 6 << 10
	maxValue = 512
	maxArgs  = 8
)

// Accept implements hclog.SinkAdapter.
func (s sink) Accept(_ string, level hclog.Level, message string, args ...any) {
	if level < s.level {
		return
	}
	line := wire.Log{Level: int8(level), Text: message[:min(len(message), maxText)]}
	for i, arg := range args {
		if i == 2*maxArgs {
			break
		}
		text := fmt.Sprint(arg)
		line.Args = append(line.Args, text[:min(len(text), maxValue)])
	}
	_ = s.out.Write(wire.TypeLog, 0, line.Encode()) // the next read reports that the host has ended
}
