package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/bulkhead-mcp/bulkhead/host"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/gateway"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// server is the server under test, and what a plugin can ask of it: a change of the list of tools, and that the stream
// of a call is closed.
type server struct {
	url        string     // of the MCP endpoint
	host       *host.Host // nil if a program serves
	plugin     string     // directory
	config     string     // file
	table      string     // further lines of the plugin's table in the config
	end        context.CancelFunc
	ended      chan error
	asked      chan string            // lines of the log that ask for something
	disconnect atomic.Pointer[func()] // ends the connection of the stream of the last call

	mu      sync.Mutex
	offered bool // hiddenTool is; guarded by mu
}

// The lines of the log by which the tools test_trigger_tool_change and test_reconnection of examples/everything ask.
const (
	askToolChange  = "conformance: change the list of tools"
	askCloseStream = "conformance: close the stream"
)

// hiddenTool is not offered at first. Each change of the list of tools offers it, or withholds it again.
const hiddenTool = "test_transient"

// start serves the plugin in dir on loopback, without a token: by this process, or by a program. table are further lines of its table in the
// config.
func start(ctx context.Context, program, dir, table string, log io.Writer) (*server, error) {
	work, err := os.MkdirTemp("", "conformance-server-")
	if err != nil {
		return nil, err
	}
	s := &server{config: filepath.Join(work, "bulkhead.toml"), table: table, ended: make(chan error, 1), asked: make(chan string, 16)}
	if s.plugin, err = filepath.Abs(filepath.Join(dir, "everything")); err != nil {
		return nil, err
	}
	if err := errors.Join(s.writeConfig(false), writeProjectSkill(work)); err != nil {
		return nil, err
	}
	if program != "" {
		if err := s.startProgram(ctx, program, work, log); err != nil {
			return nil, errors.Join(err, os.RemoveAll(work))
		}
		go s.obey(ctx)
		return s, nil
	}
	s.host, err = host.Open(host.Options{ConfigFile: s.config, Project: work, Version: "0.0.0-conformance", System: host.System{LookupEnv: ownState(work)}, Log: hclog.New(&hclog.LoggerOptions{
		Name: "conformance", Level: hclog.Debug, Output: io.MultiWriter(log, listener(s.asked)),
	})})
	if err != nil {
		return nil, err
	}
	httpserver.TestHook = func(_ *gateway.Gateway, m *gateway.Message, disconnect func()) {
		if m.Method() == abi.MethodToolsCall {
			s.disconnect.Store(&disconnect)
		}
	}
	listening := make(chan string, 1)
	ctx, s.end = context.WithCancel(ctx)
	go func() {
		s.ended <- s.host.ServeHTTP(ctx, host.HTTPOptions{Address: "127.0.0.1:0", Listening: func(url string) { listening <- url }})
	}()
	select {
	case s.url = <-listening:
	case err := <-s.ended:
		return nil, errors.Join(err, s.host.Close(context.Background()))
	}
	go s.obey(ctx)
	return s, nil
}

// ownState returns the variables of the process, but with a state directory in dir, which has the records of tasks.
func ownState(dir string) func(name string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "XDG_STATE_HOME" {
			return filepath.Join(dir, "state"), true
		}
		return os.LookupEnv(name)
	}
}

func (s *server) close() error {
	s.end()
	err := <-s.ended
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	if s.host == nil {
		return errors.Join(err, os.RemoveAll(filepath.Dir(s.config)))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return errors.Join(err, s.host.Close(ctx), os.RemoveAll(filepath.Dir(s.config)))
}

// obey does what the plugin asks for, which no plugin can do outside of tests.
func (s *server) obey(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case line := <-s.asked:
			switch line {
			case askToolChange:
				if err := s.changeTools(ctx); err != nil && ctx.Err() == nil {
					panic(err)
				}
			case askCloseStream:
				if disconnect := s.disconnect.Load(); disconnect != nil { // nil on stdio
					(*disconnect)()
				}
			}
		}
	}
}

// changeTools offers hiddenTool, or withholds it if it is offered.
func (s *server) changeTools(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered = !s.offered
	if err := s.writeConfig(s.offered); err != nil || s.host == nil {
		return err // a program follows its config
	}
	return s.host.Reload(ctx)
}

// reset withholds hiddenTool, so that a scenario does not depend on the one before.
func (s *server) reset(ctx context.Context) error {
	s.mu.Lock()
	offered := s.offered
	s.mu.Unlock()
	if !offered {
		return nil
	}
	return s.changeTools(ctx)
}

// writeConfig writes a config that serves the plugin, with or without hiddenTool.
func (s *server) writeConfig(offered bool) error {
	denied := fmt.Sprintf("deny_tools = [%q]\n", hiddenTool)
	if offered {
		denied = ""
	}
	return os.WriteFile(s.config, fmt.Appendf(nil, "[server]\nskills = [\"${project}/skills\"]\n[[plugins]]\npath = %q\n%s%s", s.plugin, denied, s.table), 0o600)
}

// writeProjectSkill writes a skill of the project in dir, which the server offers beside that of the plugin.
func writeProjectSkill(dir string) error {
	top := filepath.Join(dir, "skills", "keep-the-rules")
	return errors.Join(os.MkdirAll(filepath.Join(top, "references"), 0o700),
		os.WriteFile(filepath.Join(top, "SKILL.md"), []byte("---\nname: keep-the-rules\ndescription: Keep the rules of this project.\n---\n# Rules\n\nSee references/rules.md.\n"), 0o600),
		os.WriteFile(filepath.Join(top, "references", "rules.md"), []byte("- Be brief.\n"), 0o600))
}

// listener sends each line of a log that asks for something. Each Write is one line.
type listener chan<- string

// Write implements io.Writer.
func (l listener) Write(line []byte) (int, error) {
	for _, ask := range []string{askToolChange, askCloseStream} {
		if bytes.Contains(line, []byte(ask)) {
			l <- ask
		}
	}
	return len(line), nil
}
