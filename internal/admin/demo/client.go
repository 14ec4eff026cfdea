package demo

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// client is an MCP client that starts its server. It sends one request at a time.
type client struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	lastID int
}

// start starts the server. Cancelling the context of cmd interrupts the server, and kills it after WaitDelay.
func start(cmd *exec.Cmd) (*client, error) {
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	return &client{cmd: cmd, stdin: stdin, stdout: bufio.NewReader(stdout)}, cmd.Start()
}

// close closes stdin of the server and waits for its exit.
func (c *client) close() error {
	return errors.Join(c.stdin.Close(), c.cmd.Wait())
}

// request sends a request and decodes the result. It ignores notifications.
func (c *client) request(method string, params, result any) error {
	c.lastID++
	if err := c.send(map[string]any{"id": c.lastID, "method": method, "params": params}); err != nil {
		return err
	}
	for {
		m, err := c.receive()
		if err != nil {
			return err
		}
		switch {
		case m.Method != "": // a notification
		case m.Error != nil:
			return errors.New(m.Error.Message)
		case m.ID != c.lastID:
			return fmt.Errorf("the server answered request %d instead of request %d", m.ID, c.lastID)
		default:
			return json.Unmarshal(m.Result, result)
		}
	}
}

// awaitNotification waits for a notification. It ignores all others.
func (c *client) awaitNotification(method string) error {
	for {
		if m, err := c.receive(); err != nil || m.Method == method {
			return err
		}
	}
}

// message is a response or a notification.
type message struct {
	ID     int
	Method string
	Result json.RawMessage
	Error  *struct{ Message string }
}

func (c *client) receive() (m message, err error) {
	line, err := c.stdout.ReadBytes('\n')
	if err != nil {
		return m, fmt.Errorf("cannot read from the server: %w", err)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return m, fmt.Errorf("the server sent %.100q, which is not a JSON-RPC message: %w", line, err)
	}
	return m, nil
}

func (c *client) notify(method string) error {
	return c.send(map[string]any{"method": method})
}

func (c *client) send(message map[string]any) error {
	message["jsonrpc"] = "2.0"
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	if _, err := c.stdin.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("cannot write to the server: %w", err)
	}
	return nil
}
