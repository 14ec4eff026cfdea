package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
)

// converse starts a server on stdio, and has calls that run, wait for an answer, are refused and exceed a limit. client is the name of the
// client.
func (s *sample) converse(client string) error {
	cmd := s.command("serve", "--config", s.config, "--project", s.project)
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := s.start(cmd); err != nil {
		return err
	}
	s.inputs = append(s.inputs, input)
	send := func(format string, args ...any) error {
		_, err := fmt.Fprintf(input, format+"\n", args...)
		return err
	}
	name, err := json.Marshal(client)
	if err != nil {
		return err
	}
	if err := send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":%s,"version":"2.4"}}}`, name); err != nil {
		return err
	}
	if err := send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`); err != nil {
		return err
	}
	open, messages, answered := map[int]bool{}, bufio.NewReader(output), false
	for i, c := range s.calls() {
		if c.stays && !answered { // the calls of the same plugin that end would find no slot
			if err := awaitAnswers(messages, open, false); err != nil {
				return err
			}
			answered = true
		}
		arguments, err := json.Marshal(c.arguments)
		if err != nil {
			return err
		}
		open[i+1] = !c.stays
		if err := send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, i+1, c.tool, arguments); err != nil {
			return err
		}
	}
	if err := awaitAnswers(messages, open, true); err != nil {
		return err
	}
	go func() { _, _ = io.Copy(io.Discard, messages) }()
	return nil
}

// call is a call of a sample.
type call struct {
	tool      string
	arguments map[string]any
	stays     bool // whether it does not end, or waits for an answer
}

// calls returns the calls that end, and then those that stay.
func (s *sample) calls() []call {
	return []call{
		{tool: "list_directory", arguments: map[string]any{"path": s.project}},
		{tool: "read_text_file", arguments: map[string]any{"path": "/etc/shadow"}},
		{tool: "create_directory", arguments: map[string]any{"path": filepath.Join(s.dir, "archive"+s.odd, "new")}},
		{tool: "move_file", arguments: map[string]any{"source": "a", "destination": "b"}},
		{tool: "fetch", arguments: map[string]any{"url": "https://tracker.example.net/pixel"}},
		{tool: "misbehave_big", arguments: map[string]any{"bytes": 2 << 20}},
		{tool: "misbehave_sleep", arguments: map[string]any{"ms": 3600_000}, stays: true},
		{tool: "misbehave_sleep", arguments: map[string]any{"ms": 3600_000}, stays: true},
		{tool: "misbehave_sleep", arguments: map[string]any{"ms": 3600_000}, stays: true}, // its plugin has two slots, so one of the three waits
		{tool: "write_file", arguments: map[string]any{"path": filepath.Join(s.project, "README.md"), "content": "x"}, stays: true},
	}
}

// awaitAnswers reads the messages of a server until the open calls have ended, and, if asks, a question was asked.
func awaitAnswers(messages *bufio.Reader, open map[int]bool, asks bool) error {
	asked := !asks
	for {
		line, err := messages.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("a server ended before its calls: %w", err)
		}
		var m struct {
			ID     any
			Method string
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if id, ok := m.ID.(float64); ok && m.Method == "" {
			open[int(id)] = false
		}
		asked = asked || m.Method == "elicitation/create"
		left := 0
		for _, isOpen := range open {
			if isOpen {
				left++
			}
		}
		if left == 0 && asked {
			return nil
		}
	}
}

// serveHTTP starts a server over HTTP, and has a client with a token call it, also for what it is not granted.
func (s *sample) serveHTTP() error {
	cmd := s.command("serve", "--http", "127.0.0.1:0", "--config", s.config, "--project", s.project)
	cmd.Stderr = nil
	log, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := s.start(cmd); err != nil {
		return err
	}
	url, lines := "", bufio.NewScanner(log)
	for at := regexp.MustCompile(`url=(http\S+)`); url == "" && lines.Scan(); {
		if found := at.FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	if url == "" {
		return fmt.Errorf("the server over HTTP does not listen")
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	for _, c := range []call{
		{tool: "git_log", arguments: map[string]any{"repo_path": s.project}},
		{tool: "git_commit", arguments: map[string]any{"repo_path": s.project, "message": "x"}},
		{tool: "fetch", arguments: map[string]any{"url": "https://example.com"}},
	} {
		if err := post(url, s.token, c); err != nil {
			return err
		}
	}
	return nil
}

// post makes a call over HTTP. Its result does not matter.
func post(url, token string, c call) error {
	message := map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{
		"name": c.tool, "arguments": c.arguments,
		"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion": modernVersion, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "builder", "version": "1"},
		},
	}}
	body, err := json.Marshal(message)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token,
		"MCP-Protocol-Version": modernVersion, "Mcp-Method": "tools/call", "Mcp-Name": c.tool,
	} {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body)
	return err
}

const modernVersion = "2026-07-28"
