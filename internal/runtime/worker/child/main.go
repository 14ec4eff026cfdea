// Package child is the worker process: it confines itself, loads one module, and runs the host's calls. Main has to be
// called before the program does anything else. Package worker is the host's side.
package child

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/internal/runtime/dirtypages"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/engine"
	"github.com/bulkhead-mcp/bulkhead/internal/runtime/worker/wire"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox"
)

// Main runs a worker until the host closes the connection, and returns the exit code.
func Main() int {
	err := serveHost()
	if err == nil || errors.Is(err, io.EOF) {
		return 0
	}
	fmt.Fprintln(os.Stderr, "worker:", err)
	return 1
}

// serveHost confines the process, loads the module and answers the calls of the host.
func serveHost() error {
	stream := connection()
	out := wire.NewWriter(stream)
	in := wire.NewReader(stream, limit)
	setup, err := readSetup(in)
	if err != nil {
		return err
	}
	tracker, trackError := dirtypages.Open() // before the confinement, which prevents it
	confined, err := confineTo(setup)
	if err != nil {
		return err
	}
	report, err := json.Marshal(confined.report)
	if err != nil {
		return err
	}
	if err := out.Write(wire.TypeReady, 0, report); err != nil {
		return err
	}
	log := newLog(out, hclog.Level(setup.LogLevel))
	if trackError != nil {
		log.Debug("memory is compared after each call", "reason", trackError)
	}
	s := &server{
		in: in, out: out, log: log, operationBytes: setup.Limits.OperationBytes, cache: newCache(setup.Derived),
		credit: &credit{in: in, out: out, granted: setup.Credit},
	}
	if err := s.load(setup, confined.code, tracker); err != nil {
		failure := (*engine.Error)(nil)
		if !errors.As(err, &failure) {
			failure = &engine.Error{Code: engine.CodeInternal, Message: "cannot run: " + err.Error()}
		}
		_, text := failed(failure)
		return out.Write(wire.TypeFailed, 0, text)
	}
	s.credit.loaded()
	if err := out.Write(wire.TypeLoaded, 0); err != nil {
		return err
	}
	// The garbage of loading (decoded code and copies of it) is larger than the live heap.
	defer time.AfterFunc(settleTime, debug.FreeOSMemory).Stop()
	return s.serve()
}

// settleTime is the delay after which a worker returns the memory used for loading to the system, usually after its first
// call.
const settleTime = 500 * time.Millisecond

// limit returns the maximum payload of a frame from the host. The host is trusted and bounds its calls itself.
func limit(t wire.Type) int {
	switch t {
	case wire.TypeSetup, wire.TypeCall, wire.TypeReply:
		return 1 << 30
	case wire.TypeShort:
		return 1
	case wire.TypeCancel:
		return 0
	}
	return -1
}

func readSetup(in *wire.Reader) (wire.Setup, error) {
	var setup wire.Setup
	f, err := in.Next()
	if err != nil {
		return setup, fmt.Errorf("cannot read from the host, which starts this process: %w", err)
	}
	if f.Type != wire.TypeSetup {
		return setup, wire.Violation("the first frame is of type %d", f.Type)
	}
	return setup, json.Unmarshal(f.Payload, &setup)
}

// load loads the module.
func (s *server) load(setup wire.Setup, code string, tracker *dirtypages.Tracker) error {
	box, err := sandbox.New(boxConfig(setup, s.derive, s.log))
	if err != nil {
		return err
	}
	s.box, s.responses = box, newResponses(setup)
	if s.module, err = engine.Load(context.Background(), spec(setup, code, tracker, box, s.credit, s.log)); err != nil {
		return err
	}
	s.request, err = newRequester(setup, s.module)
	return err
}
